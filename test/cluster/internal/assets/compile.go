package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Compile compiles the packages of the module in a folder into Go's cache. It
// links no program.
func Compile(ctx context.Context, dir string, packages ...string) error {
	return run(ctx, compiler(ctx, dir, append([]string{"list", "-export", "-f", "{{/**/}}"}, packages...)...))
}

// compiler is the go command in the folder of a module.
func compiler(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// A third of what compilers do by default is to collect garbage, although
	// each takes some hundred megabytes only, and ends after seconds.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=off", "GOMEMLIMIT=1GiB")
	// The go command stops its compilers when it is interrupted, not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a compiler. What it prints is in the error.
func run(ctx context.Context, cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted; the next run continues from here")
		}
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
