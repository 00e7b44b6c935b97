package audit

import (
	"os"
	"path/filepath"
	"testing"
)

const line = `{"stage":"ResponseComplete","verb":"update","user":{"username":"a"},"objectRef":{"apiGroup":"kube8.dev",` +
	`"resource":"collectors","subresource":"status","namespace":"b","name":"c"},"responseStatus":{"code":403,"message":"no"}}` + "\n"

func TestALogIsReadAsItGrows(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	if err := log.Skip(); err != nil {
		t.Errorf("skip what is not there: %v", err)
	}
	for _, step := range []struct {
		name, add string
		want      int
	}{
		{"one request and a half", line + line[:50], 1},
		{"the other half", line[50:], 1},
		{"nothing", "", 0},
	} {
		file, err := os.OpenFile(log.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		file.Close()
		got, err := log.Next()
		if err != nil || len(got) != step.want {
			t.Errorf("%s: got %v, %v, want %d", step.name, got, err, step.want)
		}
		for _, r := range got {
			if r.Resource() != "collectors/status" || !r.IsWrite() || r.ResponseStatus.Code != 403 || r.ObjectRef.Name != "c" {
				t.Errorf("%s: got %+v", step.name, r)
			}
		}
	}
	late := Log{Path: log.Path}
	if err := late.Skip(); err != nil {
		t.Error(err)
	}
	if got, err := late.Next(); err != nil || len(got) != 0 {
		t.Errorf("what was skipped is read: %v, %v", got, err)
	}
}

func TestALogThatWasRotatedIsAnError(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	for _, text := range []string{line + line, line} {
		if err := os.WriteFile(log.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Next(); (err != nil) != (text == line) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

func TestALineThatIsNoJSONIsRefused(t *testing.T) {
	if _, err := Parse([]byte("{\n")); err == nil {
		t.Error("it is not")
	}
}
