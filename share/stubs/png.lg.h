/* How libpng's functions use what they are given: annotations for `lockgate stubs --partial png.h` (docs/stubs.md).
 *
 * Rows are as long as the program was told (reading), or as it said (writing): it calls png_get_rowbytes before it reads rows. Left out:
 * memory functions of the program, png_read_png and png_write_png, whose rows the library keeps, and the simplified API. */
#include "png.h"

LG_DOMAIN("png", memory=512M, streams); /* it says on standard error what is wrong with an image */

/* Numbers of things, and 0 where there are none. */
LG_ERRORS(int, 0);
LG_ERRORS(png_int_32, 0);
LG_ERRORS(png_uint_32, 0);
LG_ERRORS(png_uint_16, 0);
LG_ERRORS(png_byte, 0);
/* Bytes of rows and of what is held back. */
LG_ERRORS(size_t, 0);
png_uint_32 png_get_valid(const png_struct *png_ptr, const png_info *info_ptr, png_uint_32 flag) LG_ERROR(0);
png_byte png_get_rgb_to_gray_status(const png_struct *png_ptr) LG_ERROR(0);
int png_reset_zstream(png_struct *png_ptr) LG_ERROR(-2);

/* What may fail jumps. Functions that take a const png_struct only ask, or say below that they may fail, too. */
LG_TYPE(png_structrp, LG_JUMPS);
typedef void (PNGCAPI *png_longjmp_ptr)(jmp_buf env LG_JUMP, int value);
jmp_buf *png_set_longjmp_fn(png_struct *png_ptr, png_longjmp_ptr longjmp_fn, size_t jmp_buf_size) LG_JUMP_BUFFER(png_ptr);
void png_longjmp(const png_struct *png_ptr LG_JUMPS, int val);
void png_error(const png_struct *png_ptr LG_JUMPS, png_const_charp error_message);
void png_chunk_error(const png_struct *png_ptr LG_JUMPS, png_const_charp error_message);
void png_benign_error(const png_struct *png_ptr LG_JUMPS, png_const_charp warning_message);
void png_chunk_benign_error(const png_struct *png_ptr LG_JUMPS, png_const_charp warning_message);

/* Lives. */
png_infop png_create_info_struct(const png_struct *png_ptr LG_JUMPS);
void png_destroy_info_struct(const png_struct *png_ptr, png_infopp info_ptr_ptr LG_INOUT LG_RELEASE);
void png_destroy_read_struct(png_structpp png_ptr_ptr LG_INOUT LG_RELEASE, png_infopp info_ptr_ptr LG_INOUT LG_RELEASE,
                             png_infopp end_info_ptr_ptr LG_INOUT LG_RELEASE);
void png_destroy_write_struct(png_structpp png_ptr_ptr LG_INOUT LG_RELEASE, png_infopp info_ptr_ptr LG_INOUT LG_RELEASE);
png_voidp png_malloc(const png_struct *png_ptr LG_JUMPS, png_alloc_size_t size) LG_OUT LG_SIZE(size) LG_FREED(png_free);
png_voidp png_calloc(const png_struct *png_ptr LG_JUMPS, png_alloc_size_t size) LG_SIZE(size) LG_FREED(png_free);
png_voidp png_malloc_warn(const png_struct *png_ptr, png_alloc_size_t size) LG_OUT LG_SIZE(size) LG_FREED(png_free);
void png_free(const png_struct *png_ptr, png_voidp ptr LG_INSIDE);

/* Functions of the program's, and their data. */
typedef void (PNGCAPI *png_rw_ptr)(png_structp png_ptr, png_bytep data LG_INOUT LG_SIZE(length), size_t length);
typedef void (PNGCAPI *png_progressive_row_ptr)(png_structp png_ptr, png_bytep new_row LG_NULLABLE LG_SIZE(lg_told(png_get_rowbytes, png_ptr, lg_result)),
                                                png_uint_32 row_num, int pass);
typedef void (PNGCAPI *png_user_transform_ptr)(png_structp png_ptr, png_row_infop row_info LG_IN, png_bytep data LG_INOUT LG_SIZE(row_info->rowbytes));
typedef int (PNGCAPI *png_user_chunk_ptr)(png_structp png_ptr, png_unknown_chunkp chunk LG_IN);
png_structp png_create_read_struct(png_const_charp user_png_ver, png_voidp error_ptr LG_DATA, png_error_ptr error_fn, png_error_ptr warn_fn);
png_structp png_create_write_struct(png_const_charp user_png_ver, png_voidp error_ptr LG_DATA, png_error_ptr error_fn, png_error_ptr warn_fn);
void png_set_error_fn(png_struct *png_ptr, png_voidp error_ptr LG_DATA, png_error_ptr error_fn, png_error_ptr warning_fn);
void png_set_write_fn(png_struct *png_ptr, png_voidp io_ptr LG_DATA, png_rw_ptr write_data_fn, png_flush_ptr output_flush_fn);
void png_set_read_fn(png_struct *png_ptr, png_voidp io_ptr LG_DATA, png_rw_ptr read_data_fn);
void png_set_read_user_chunk_fn(png_struct *png_ptr, png_voidp user_chunk_ptr LG_DATA, png_user_chunk_ptr read_user_chunk_fn);
void png_set_progressive_read_fn(png_struct *png_ptr, png_voidp progressive_ptr LG_DATA, png_progressive_info_ptr info_fn, png_progressive_row_ptr row_fn,
                                 png_progressive_end_ptr end_fn);
png_voidp png_get_error_ptr(const png_struct *png_ptr) LG_DATA LG_GIVEN(png_create_read_struct, png_create_write_struct, png_set_error_fn);
png_voidp png_get_io_ptr(const png_struct *png_ptr) LG_DATA LG_GIVEN(png_set_read_fn, png_set_write_fn);
png_voidp png_get_progressive_ptr(const png_struct *png_ptr) LG_DATA LG_GIVEN(png_set_progressive_read_fn);
png_voidp png_get_user_chunk_ptr(const png_struct *png_ptr) LG_DATA LG_GIVEN(png_set_read_user_chunk_fn);
png_voidp png_get_user_transform_ptr(const png_struct *png_ptr) LG_DATA LG_GIVEN(png_set_user_transform_info);
void png_set_user_transform_info(png_struct *png_ptr, png_voidp user_transform_ptr LG_DATA, int user_transform_depth, int user_transform_channels);
png_voidp png_get_mem_ptr(const png_struct *png_ptr) LG_OMIT("the library has its own memory functions");
void png_process_data(png_struct *png_ptr, png_info *info_ptr, png_bytep buffer LG_IN LG_SIZE(buffer_size), size_t buffer_size);

/* Rows. */
#define PNG_HEIGHT_READ lg_told(png_get_IHDR, png_ptr, height, png_get_image_height, png_ptr, lg_result)
#define PNG_ROW_READ LG_SIZE(lg_told(png_get_rowbytes, png_ptr, lg_result))
#define PNG_ROW_WRITTEN LG_SIZE((lg_told(png_set_IHDR, png_ptr, width) * (lg_told(png_set_packing, png_ptr, lg_called) && lg_told(png_set_IHDR, png_ptr, bit_depth) < 8 ? 8 : lg_told(png_set_IHDR, png_ptr, bit_depth)) * ((lg_told(png_set_IHDR, png_ptr, color_type) == 2 ? 3 : lg_told(png_set_IHDR, png_ptr, color_type) == 4 ? 2 : lg_told(png_set_IHDR, png_ptr, color_type) == 6 ? 4 : 1) + (lg_told(png_set_filler, png_ptr, lg_called) && lg_told(png_set_IHDR, png_ptr, color_type) < 4)) + 7) / 8)
void png_read_rows(png_struct *png_ptr, png_bytepp row LG_INOUT LG_ROWS(num_rows) PNG_ROW_READ, png_bytepp display_row LG_INOUT LG_ROWS(num_rows) PNG_ROW_READ,
                   png_uint_32 num_rows);
void png_read_row(png_struct *png_ptr, png_bytep row LG_INOUT PNG_ROW_READ, png_bytep display_row LG_INOUT PNG_ROW_READ);
void png_read_image(png_struct *png_ptr, png_bytepp image LG_INOUT LG_ROWS(PNG_HEIGHT_READ) PNG_ROW_READ);
void png_progressive_combine_row(const png_struct *png_ptr LG_JUMPS, png_bytep old_row LG_INOUT PNG_ROW_READ, png_const_bytep new_row LG_INSIDE);
void png_write_row(png_struct *png_ptr, png_const_bytep row LG_IN PNG_ROW_WRITTEN);
void png_write_rows(png_struct *png_ptr, png_bytepp row LG_IN LG_ROWS(num_rows) PNG_ROW_WRITTEN, png_uint_32 num_rows);
void png_write_image(png_struct *png_ptr, png_bytepp image LG_IN LG_ROWS(lg_told(png_set_IHDR, png_ptr, height)) PNG_ROW_WRITTEN);
void png_set_rows(const png_struct *png_ptr, png_info *info_ptr, png_bytepp row_pointers LG_IN) LG_OMIT("the library keeps the rows");
void png_read_png(png_struct *png_ptr, png_info *info_ptr, int transforms, png_voidp params) LG_OMIT("the library keeps the rows: png_read_image");
void png_write_png(png_struct *png_ptr, png_info *info_ptr, int transforms, png_voidp params) LG_OMIT("the library keeps the rows: png_write_image");

void png_init_io(png_struct *png_ptr, png_FILE_p fp LG_KEPT);

/* Numbers in buffers. */
/* It looks at no more than the eight bytes of a signature, whatever it is told. */
int png_sig_cmp(png_const_bytep sig LG_IN LG_SIZE(start > 7 ? 0 : num_to_check > 8 - start ? 8 : start + num_to_check), size_t start, size_t num_to_check) LG_ERROR(-1);
png_uint_32 (png_get_uint_32)(png_const_bytep buf LG_IN LG_SIZE(4));
png_uint_16 (png_get_uint_16)(png_const_bytep buf LG_IN LG_SIZE(2));
png_int_32 (png_get_int_32)(png_const_bytep buf LG_IN LG_SIZE(4));
png_uint_32 png_get_uint_31(const png_struct *png_ptr LG_JUMPS, png_const_bytep buf LG_IN LG_SIZE(4));
void png_save_uint_32(png_bytep buf LG_OUT LG_SIZE(4) LG_WRITTEN(4), png_uint_32 i);
void png_save_int_32(png_bytep buf LG_OUT LG_SIZE(4) LG_WRITTEN(4), png_int_32 i);
void png_save_uint_16(png_bytep buf LG_OUT LG_SIZE(2) LG_WRITTEN(2), unsigned int i);
int png_convert_to_rfc1123_buffer(char out[29] LG_OUT LG_STRING LG_SIZE(29) LG_WRITTEN(lg_result ? 29 : 0), png_const_timep ptime LG_IN);
png_const_charp png_convert_to_rfc1123(png_struct *png_ptr, png_const_timep ptime LG_IN);
void png_convert_from_time_t(png_timep ptime LG_OUT, time_t ttime);
void png_convert_from_struct_tm(png_timep ptime, const struct tm *ttime) LG_OMIT("use png_convert_from_time_t");

/* Chunks by hand. */
void png_write_chunk(png_struct *png_ptr, png_const_bytep chunk_name LG_IN LG_SIZE(4), png_const_bytep data LG_IN LG_SIZE(length), size_t length);
void png_write_chunk_start(png_struct *png_ptr, png_const_bytep chunk_name LG_IN LG_SIZE(4), png_uint_32 length);
void png_write_chunk_data(png_struct *png_ptr, png_const_bytep data LG_IN LG_SIZE(length), size_t length);
void png_set_keep_unknown_chunks(png_struct *png_ptr, int keep, png_const_bytep chunk_list LG_IN LG_SIZE(num_chunks < 0 ? 0 : num_chunks * 5), int num_chunks);
int png_handle_as_unknown(const png_struct *png_ptr, png_const_bytep chunk_name LG_IN LG_SIZE(4));
LG_FIELD(png_unknown_chunk, data, LG_IN LG_SIZE(size) LG_BORROWED);
int png_get_unknown_chunks(const png_struct *png_ptr, png_info *info_ptr, png_unknown_chunkpp entries LG_OUT LG_SIZE(lg_result) LG_BORROWED);
void png_set_unknown_chunks(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_const_unknown_chunkp unknowns LG_IN LG_SIZE(num_unknowns), int num_unknowns);

/* What images say of themselves. */
#define PNG_NUMBER LG_INOUT
png_uint_32 png_get_IHDR(const png_struct *png_ptr LG_JUMPS, const png_info *info_ptr, png_uint_32 *width PNG_NUMBER, png_uint_32 *height PNG_NUMBER,
                         int *bit_depth PNG_NUMBER, int *color_type PNG_NUMBER, int *interlace_method PNG_NUMBER, int *compression_method PNG_NUMBER,
                         int *filter_method PNG_NUMBER);
void png_set_IHDR(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_uint_32 width, png_uint_32 height, int bit_depth, int color_type,
                  int interlace_method, int compression_method, int filter_method);
png_const_bytep png_get_signature(const png_struct *png_ptr, const png_info *info_ptr) LG_SIZE(8);
png_uint_32 png_get_bKGD(const png_struct *png_ptr, png_info *info_ptr, png_color_16p *background LG_OUT LG_SIZE(1) LG_BORROWED);
void png_set_bKGD(const png_struct *png_ptr, png_info *info_ptr, png_const_color_16p background LG_IN);
png_uint_32 png_get_cHRM(const png_struct *png_ptr, const png_info *info_ptr, double *white_x PNG_NUMBER, double *white_y PNG_NUMBER, double *red_x PNG_NUMBER,
                         double *red_y PNG_NUMBER, double *green_x PNG_NUMBER, double *green_y PNG_NUMBER, double *blue_x PNG_NUMBER, double *blue_y PNG_NUMBER);
png_uint_32 png_get_cHRM_fixed(const png_struct *png_ptr, const png_info *info_ptr, png_fixed_point *int_white_x PNG_NUMBER, png_fixed_point *int_white_y PNG_NUMBER,
                               png_fixed_point *int_red_x PNG_NUMBER, png_fixed_point *int_red_y PNG_NUMBER, png_fixed_point *int_green_x PNG_NUMBER,
                               png_fixed_point *int_green_y PNG_NUMBER, png_fixed_point *int_blue_x PNG_NUMBER, png_fixed_point *int_blue_y PNG_NUMBER);
#ifdef PNG_cICP_SUPPORTED
png_uint_32 png_get_cICP(const png_struct *png_ptr, const png_info *info_ptr, png_bytep colour_primaries LG_INOUT LG_SIZE(1), png_bytep transfer_function LG_INOUT LG_SIZE(1),
                         png_bytep matrix_coefficients LG_INOUT LG_SIZE(1), png_bytep video_full_range_flag LG_INOUT LG_SIZE(1));
#endif
#ifdef PNG_cLLI_SUPPORTED
png_uint_32 png_get_cLLI(const png_struct *png_ptr, const png_info *info_ptr, double *maximum_content_light_level PNG_NUMBER, double *maximum_frame_average_light_level PNG_NUMBER);
png_uint_32 png_get_cLLI_fixed(const png_struct *png_ptr, const png_info *info_ptr, png_uint_32p maximum_content_light_level_scaled_by_10000 PNG_NUMBER,
                               png_uint_32p maximum_frame_average_light_level_scaled_by_10000 PNG_NUMBER);
#endif
png_uint_32 png_get_eXIf_1(const png_struct *png_ptr, const png_info *info_ptr, png_uint_32 *num_exif PNG_NUMBER, png_bytep *exif LG_OUT LG_SIZE(*num_exif) LG_BORROWED);
void png_set_eXIf_1(const png_struct *png_ptr, png_info *info_ptr, png_uint_32 num_exif, png_bytep exif LG_IN LG_SIZE(num_exif));
png_uint_32 png_get_gAMA(const png_struct *png_ptr, const png_info *info_ptr, double *file_gamma PNG_NUMBER);
png_uint_32 png_get_gAMA_fixed(const png_struct *png_ptr, const png_info *info_ptr, png_fixed_point *int_file_gamma PNG_NUMBER);
png_uint_32 png_get_hIST(const png_struct *png_ptr, png_info *info_ptr, png_uint_16p *hist LG_OUT LG_SIZE(256) LG_BORROWED);
void png_set_hIST(const png_struct *png_ptr, png_info *info_ptr, png_const_uint_16p hist LG_IN LG_SIZE(lg_told(png_set_PLTE, png_ptr, num_palette)));
#ifdef PNG_mDCV_SUPPORTED
png_uint_32 png_get_mDCV(const png_struct *png_ptr, const png_info *info_ptr, double *white_x PNG_NUMBER, double *white_y PNG_NUMBER, double *red_x PNG_NUMBER,
                         double *red_y PNG_NUMBER, double *green_x PNG_NUMBER, double *green_y PNG_NUMBER, double *blue_x PNG_NUMBER, double *blue_y PNG_NUMBER,
                         double *mastering_display_maximum_luminance PNG_NUMBER, double *mastering_display_minimum_luminance PNG_NUMBER);
png_uint_32 png_get_mDCV_fixed(const png_struct *png_ptr, const png_info *info_ptr, png_fixed_point *int_white_x PNG_NUMBER, png_fixed_point *int_white_y PNG_NUMBER,
                               png_fixed_point *int_red_x PNG_NUMBER, png_fixed_point *int_red_y PNG_NUMBER, png_fixed_point *int_green_x PNG_NUMBER,
                               png_fixed_point *int_green_y PNG_NUMBER, png_fixed_point *int_blue_x PNG_NUMBER, png_fixed_point *int_blue_y PNG_NUMBER,
                               png_uint_32p mastering_display_maximum_luminance_scaled_by_10000 PNG_NUMBER,
                               png_uint_32p mastering_display_minimum_luminance_scaled_by_10000 PNG_NUMBER);
#endif
png_uint_32 png_get_oFFs(const png_struct *png_ptr, const png_info *info_ptr, png_int_32 *offset_x PNG_NUMBER, png_int_32 *offset_y PNG_NUMBER, int *unit_type PNG_NUMBER);
png_uint_32 png_get_pCAL(const png_struct *png_ptr, png_info *info_ptr, png_charp *purpose LG_OUT LG_STRING LG_BORROWED, png_int_32 *X0 PNG_NUMBER, png_int_32 *X1 PNG_NUMBER,
                         int *type PNG_NUMBER, int *nparams PNG_NUMBER, png_charp *units LG_OUT LG_STRING LG_BORROWED, png_charpp *params LG_OUT LG_SIZE(*nparams) LG_BORROWED);
void png_set_pCAL(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_const_charp purpose LG_STRING, png_int_32 X0, png_int_32 X1, int type, int nparams,
                  png_const_charp units, png_charpp params LG_IN LG_ROWS(nparams) LG_STRING);
png_uint_32 png_get_pHYs(const png_struct *png_ptr, const png_info *info_ptr, png_uint_32 *res_x PNG_NUMBER, png_uint_32 *res_y PNG_NUMBER, int *unit_type PNG_NUMBER);
png_uint_32 png_get_pHYs_dpi(const png_struct *png_ptr, const png_info *info_ptr, png_uint_32 *res_x PNG_NUMBER, png_uint_32 *res_y PNG_NUMBER, int *unit_type PNG_NUMBER);
png_uint_32 png_get_PLTE(const png_struct *png_ptr, png_info *info_ptr, png_colorp *palette LG_OUT LG_SIZE(*num_palette) LG_BORROWED, int *num_palette PNG_NUMBER);
void png_set_PLTE(png_struct *png_ptr, png_info *info_ptr, png_const_colorp palette LG_IN LG_SIZE(num_palette), int num_palette);
png_uint_32 png_get_sBIT(const png_struct *png_ptr, png_info *info_ptr, png_color_8p *sig_bit LG_OUT LG_SIZE(1) LG_BORROWED);
void png_set_sBIT(const png_struct *png_ptr, png_info *info_ptr, png_const_color_8p sig_bit LG_IN);
png_uint_32 png_get_sRGB(const png_struct *png_ptr, const png_info *info_ptr, int *file_srgb_intent PNG_NUMBER);
png_uint_32 png_get_iCCP(const png_struct *png_ptr, png_info *info_ptr, png_charpp name LG_OUT LG_STRING LG_BORROWED, int *compression_type PNG_NUMBER,
                         png_bytepp profile LG_OUT LG_SIZE(*proflen) LG_BORROWED, png_uint_32 *proflen PNG_NUMBER);
void png_set_iCCP(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_const_charp name LG_STRING, int compression_type, png_const_bytep profile LG_IN LG_SIZE(proflen),
                  png_uint_32 proflen);
LG_FIELD(png_sPLT_t, name, LG_STRING LG_BORROWED);
LG_FIELD(png_sPLT_t, entries, LG_IN LG_SIZE(nentries) LG_BORROWED);
int png_get_sPLT(const png_struct *png_ptr, png_info *info_ptr, png_sPLT_tpp entries LG_OUT LG_SIZE(lg_result) LG_BORROWED);
void png_set_sPLT(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_const_sPLT_tp entries LG_IN LG_SIZE(nentries), int nentries);
LG_FIELD(png_text, key, LG_STRING LG_NULLABLE LG_BORROWED);
LG_FIELD(png_text, text, LG_STRING LG_NULLABLE LG_BORROWED);
LG_FIELD(png_text, lang, LG_STRING LG_NULLABLE LG_BORROWED);
LG_FIELD(png_text, lang_key, LG_STRING LG_NULLABLE LG_BORROWED);
int png_get_text(const png_struct *png_ptr, png_info *info_ptr, png_textp *text_ptr LG_OUT LG_SIZE(*num_text) LG_BORROWED, int *num_text PNG_NUMBER);
void png_set_text(const png_struct *png_ptr LG_JUMPS, png_info *info_ptr, png_const_textp text_ptr LG_IN LG_SIZE(num_text), int num_text);
png_uint_32 png_get_tIME(const png_struct *png_ptr, png_info *info_ptr, png_timep *mod_time LG_OUT LG_SIZE(1) LG_BORROWED);
void png_set_tIME(const png_struct *png_ptr, png_info *info_ptr, png_const_timep mod_time LG_IN);
png_uint_32 png_get_tRNS(const png_struct *png_ptr, png_info *info_ptr, png_bytep *trans_alpha LG_OUT LG_SIZE(*num_trans) LG_BORROWED, int *num_trans PNG_NUMBER,
                         png_color_16p *trans_color LG_OUT LG_SIZE(1) LG_BORROWED);
void png_set_tRNS(png_struct *png_ptr, png_info *info_ptr, png_const_bytep trans_alpha LG_IN LG_SIZE(num_trans), int num_trans, png_const_color_16p trans_color LG_IN);
png_uint_32 png_get_sCAL(const png_struct *png_ptr, const png_info *info_ptr, int *unit PNG_NUMBER, double *width PNG_NUMBER, double *height PNG_NUMBER);
png_uint_32 png_get_sCAL_s(const png_struct *png_ptr, const png_info *info_ptr, int *unit PNG_NUMBER, png_charpp swidth LG_OUT LG_STRING LG_BORROWED, png_charpp sheight LG_OUT LG_STRING LG_BORROWED);

/* Transformations. */
void png_set_shift(png_struct *png_ptr, png_const_color_8p true_bits LG_IN);
void png_set_background(png_struct *png_ptr, png_const_color_16p background_color LG_IN, int background_gamma_code, int need_expand, double background_gamma);
void png_set_background_fixed(png_struct *png_ptr, png_const_color_16p background_color LG_IN, int background_gamma_code, int need_expand, png_fixed_point background_gamma);
void png_build_grayscale_palette(int bit_depth, png_colorp palette LG_INOUT LG_SIZE(bit_depth < 1 || bit_depth > 8 ? 0 : bit_depth == 8 ? 256 : bit_depth == 4 ? 16 : bit_depth == 2 ? 4 : 2));
