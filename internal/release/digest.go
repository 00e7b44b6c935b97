package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// digestOfInputs returns the digest of what a Collector is rendered from. UID and generation stand for its spec.
func (r *actionClient) digestOfInputs(now inputs) string {
	operator, err := executable()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{
		operator, r.chart.digest, now.offered, now.configuration, string(r.collector.GetUID()), strconv.FormatInt(now.generation, 10),
	} {
		write(sum, part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:partLength]
}

// digestOfObjects returns the digest of the objects that the informer cache has, without those that wait for pods to go:
// they must be pruned, also after a restart.
func (r *actionClient) digestOfObjects() string {
	var lines []string
	for what, object := range r.observed {
		if !r.waiting[what] {
			lines = append(lines, fmt.Sprint(what, object.GetUID(), sightOf(object).digest))
		}
	}
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
