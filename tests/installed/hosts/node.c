#include <node_api.h>
int host_main(int, char **);
static napi_value run(napi_env env, napi_callback_info info) {
    static char texts[18][4096];
    char *argv[20] = {"host"};
    size_t length, count = 18;
    napi_value words[18], result;
    napi_get_cb_info(env, info, &count, words, NULL, NULL);
    for (size_t i = 0; i < count && i < 18; i++) {
        napi_get_value_string_utf8(env, words[i], texts[i], sizeof texts[i], &length);
        argv[i + 1] = texts[i];
    }
    napi_create_int32(env, host_main((int)count + 1, argv), &result);
    return result;
}
NAPI_MODULE_INIT() {
    napi_value function;
    napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, NULL, &function);
    napi_set_named_property(env, exports, "run", function);
    return exports;
}
