// A Go program with a plugin in C that brings the library: goroutines on other threads collect garbage meanwhile, and the runtime gets its own faults.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
static int call(const char *plugin, int argc, char **argv) {
	void *it = dlopen(plugin, RTLD_NOW);
	int (*host_main)(int, char **) = it ? (int (*)(int, char **))dlsym(it, "host_main") : 0;
	return host_main ? host_main(argc, argv) : 3;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

var kept [][]byte

func own(at *int) (what any) {
	defer func() { what = recover() }()
	return *at
}

func main() {
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				kept = append(kept[:0], make([]byte, 1<<16))
				runtime.GC()
			}
		}
	}()
	runtime.LockOSThread()
	words := append([]string{"host"}, os.Args[2:]...)
	argv := unsafe.Slice((**C.char)(C.calloc(C.size_t(len(words)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))), len(words)+1)
	for i, word := range words {
		argv[i] = C.CString(word)
	}
	status := C.call(C.CString(os.Args[1]), C.int(len(words)), &argv[0])
	close(stop)
	for i := 0; i < 100; i++ {
		if _, is := own(nil).(runtime.Error); !is {
			fmt.Println("a nil pointer of the program's own is no panic")
			os.Exit(4)
		}
	}
	os.Exit(int(status))
}
