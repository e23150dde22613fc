#include <node_api.h>
int host_main(int, char **);
static napi_value run(napi_env env, napi_callback_info info) {
    char file[1024];
    size_t length, count = 1;
    napi_value argument, result;
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    napi_get_value_string_utf8(env, argument, file, sizeof file, &length);
    char *words[] = {"host", "foreign", file};
    napi_create_int32(env, host_main(3, words), &result);
    return result;
}
NAPI_MODULE_INIT() {
    napi_value function;
    napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, NULL, &function);
    napi_set_named_property(env, exports, "run", function);
    return exports;
}
