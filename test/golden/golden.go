// Package golden compares files with what tests make. Tests with the flag -update write these files.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that tests compare with what they make")

// Read returns what a file has. With -update, it has what a test has made.
func Read(t *testing.T, file, made string) string {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// Compare compares a file with what a test has made. refresh are the arguments of go test that run the test.
func Compare(t *testing.T, file, made, refresh string) {
	t.Helper()
	if line, want, got, differ := firstDifference(Read(t, file, made), made); differ {
		t.Errorf("%s line %d\nwant: %s\n got: %s\nif that is meant: go test %s -update", file, line, want, got, refresh)
	}
}

func firstDifference(want, got string) (line int, a, b string, differ bool) {
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wants), len(gots)) {
		a, b = "<end>", "<end>"
		if i < len(wants) {
			a = wants[i]
		}
		if i < len(gots) {
			b = gots[i]
		}
		if a != b {
			return i + 1, a, b, true
		}
	}
	return 0, "", "", false
}
