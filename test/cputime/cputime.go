// Package cputime tells what a test or a benchmark takes of the processors. Unlike the time that passes, that is the same beside other
// work.
package cputime

import (
	"fmt"
	"syscall"
	"time"
)

// Own returns the time, user and system, that this process has used. Nothing but a bug makes getrusage(2) fail for the process itself.
func Own() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("read the CPU time of this process: %v", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
