#include <jni.h>
int host_main(int, char **);
JNIEXPORT jint JNICALL Java_Host_run(JNIEnv *env, jclass class, jstring module) {
    (void)class;
    char *words[] = {"host", "foreign", (char *)(*env)->GetStringUTFChars(env, module, NULL)};
    return host_main(3, words);
}
