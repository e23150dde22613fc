#include <jni.h>
int host_main(int, char **);
JNIEXPORT jint JNICALL Java_Host_run(JNIEnv *env, jclass class, jobjectArray words) {
    char *argv[20] = {"host"};
    int count = (*env)->GetArrayLength(env, words);
    (void)class;
    for (int i = 0; i < count && i < 18; i++)
        argv[i + 1] = (char *)(*env)->GetStringUTFChars(env, (*env)->GetObjectArrayElement(env, words, i), NULL);
    return host_main(count + 1, argv);
}
