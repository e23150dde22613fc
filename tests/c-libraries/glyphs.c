// Renders every glyph of the fonts at two sizes, and prints for each font what came out: its number of glyphs and a checksum of all bitmaps.
#include <ft2build.h>
#include <stdio.h>
#include FT_FREETYPE_H

int main(int argc, char **argv) {
    static const int sizes[] = {11, 40};
    FT_Library library;
    if (FT_Init_FreeType(&library))
        return 1;
    for (int font = 1; font < argc; font++) {
        FT_Face face;
        if (FT_New_Face(library, argv[font], 0, &face)) {
            printf("font %d: cannot be opened\n", font);
            continue;
        }
        unsigned long sum = 0, failed = 0;
        for (unsigned size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            FT_Set_Pixel_Sizes(face, 0, sizes[size]);
            for (long glyph = 0; glyph < face->num_glyphs; glyph++) {
                if (FT_Load_Glyph(face, glyph, FT_LOAD_RENDER)) {
                    failed++;
                    continue;
                }
                const FT_Bitmap *bitmap = &face->glyph->bitmap;
                for (unsigned row = 0; row < bitmap->rows; row++)
                    for (unsigned column = 0; column < bitmap->width; column++)
                        sum = sum * 31 + bitmap->buffer[row * bitmap->pitch + column];
                sum = sum * 31 + face->glyph->advance.x + bitmap->rows * 7 + bitmap->width;
            }
        }
        printf("font %d: %ld glyphs, %lu failed, %016lx\n", font, face->num_glyphs, failed, sum);
        FT_Done_Face(face);
    }
    FT_Done_FreeType(library);
    return 0;
}
