// Shapes a few lines with each font that is named, and prints what came of it.
#include <cstdio>
#include <hb-ot.h>
#include <hb.h>
#include <string>
#include <vector>

static void shape(hb_font_t *font, const char *text, hb_direction_t direction) {
    hb_buffer_t *buffer = hb_buffer_create();
    hb_buffer_add_utf8(buffer, text, -1, 0, -1);
    hb_buffer_guess_segment_properties(buffer);
    if (direction != HB_DIRECTION_INVALID) hb_buffer_set_direction(buffer, direction);
    hb_shape(font, buffer, nullptr, 0);
    std::vector<char> room(65536);
    unsigned written = 0, count = hb_buffer_get_length(buffer);
    hb_buffer_serialize_glyphs(buffer, 0, count, room.data(), room.size(), &written, font, HB_BUFFER_SERIALIZE_FORMAT_TEXT,
                               HB_BUFFER_SERIALIZE_FLAG_DEFAULT);
    std::printf("  %u: %.*s\n", count, static_cast<int>(written), room.data());
    hb_buffer_destroy(buffer);
}

int main(int count, char **files) {
    for (int i = 1; i < count; i++) {
        hb_blob_t *blob = hb_blob_create_from_file(files[i]);
        hb_face_t *face = hb_face_create(blob, 0);
        hb_font_t *font = hb_font_create(face);
        std::printf("%s: %u glyphs\n", files[i], hb_face_get_glyph_count(face));
        shape(font, "Office affluent, Wave 123\u0301", HB_DIRECTION_INVALID);
        shape(font, "\u0627\u0644\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd", HB_DIRECTION_INVALID);
        shape(font, "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", HB_DIRECTION_INVALID);
        shape(font, "\u65e5\u672c\u8a9e", HB_DIRECTION_TTB);
        hb_font_destroy(font);
        hb_face_destroy(face);
        hb_blob_destroy(blob);
    }
    return 0;
}
