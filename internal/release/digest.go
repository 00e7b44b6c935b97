package release

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The digest in a Collector's status has three parts, of 20, 20 and 24 letters: what it was rendered from, what was
// rendered, and the objects. By it the operator knows after a restart that there is nothing to do, and does not even render.
const (
	partLength   = 20
	digestLength = 64
)

func splitDigest(digest string) (inputs, hash, objects string) {
	if len(digest) != digestLength {
		return "", "", ""
	}
	return digest[:partLength], digest[partLength : 2*partLength], digest[2*partLength:]
}

func (r *actionClient) digestOfInputs(now inputs) string {
	operator, err := executable()
	if err != nil {
		return ""
	}
	text, err := json.Marshal(r.values) // sorts keys
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{
		operator, r.chart.digest, now.offered, now.configuration, string(r.collector.GetUID()),
		r.collector.GetNamespace(), r.collector.GetName(), string(text),
	} {
		write(sum, part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:partLength]
}

func digestOfObjects(objects map[ref]client.Object) string {
	var lines []string
	for what, object := range objects {
		lines = append(lines, fmt.Sprint(what, object.GetUID(), sightOf(object).digest))
	}
	return digestOfLines(lines)
}

func (r *actionClient) digestOfStates() string {
	var lines []string
	for what, known := range r.objects {
		lines = append(lines, fmt.Sprint(what, known.uid, known.digest))
	}
	return digestOfLines(lines)
}

func digestOfLines(lines []string) string {
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:digestLength-2*partLength]
}

// executable returns a hash of the running program: another one may render otherwise.
var executable = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the operator's executable: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	return string(sum.Sum(nil)), nil
})
