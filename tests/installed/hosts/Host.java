/** A Java program with a plugin in C that brings the library: the JVM gets its own faults. */
public class Host {
    static native int run(String[] words);

    static int length(String of) {
        return of.length();
    }

    public static void main(String[] arguments) {
        System.loadLibrary("host");
        int status = run(arguments);
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try {
                caught += length(i % 2 == 0 ? null : "") + 0;
            } catch (NullPointerException own) {
                caught++;
            }
        }
        if (caught != 10000) {
            System.out.println("null pointers of the program's own: " + caught);
            System.exit(4);
        }
        System.exit(status);
    }
}
