package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kube8/kube8-operator/internal/inventory"
)

// The digest in a Collector's status has three parts, of 20, 20 and 24 letters: what it was rendered from, what was
// rendered, and the objects. By it an operator that has just started knows that there is nothing to do, and does not even render.
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

// unseen is the last part of a digest as long as the informer cache has not shown all objects.
var unseen = strings.Repeat("-", digestLength-2*partLength)

// digestOfInputs returns the digest of what a Collector is rendered from. UID and generation stand for its spec. Another build of
// the operator may render otherwise.
func (r *actionClient) digestOfInputs(now inputs) string {
	sum := sha256.New()
	for _, part := range []string{
		r.Build, r.chart.Digest, now.offered, now.configuration, string(r.collector.GetUID()), strconv.FormatInt(now.generation, 10),
	} {
		fmt.Fprintf(sum, "%d %s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:partLength]
}

// digestOfObjects returns the digest of objects that the informer cache has, without those that wait to be pruned: they must be,
// also after a restart.
func digestOfObjects(objects map[inventory.Reference]inventory.Object, waits map[inventory.Reference]bool) string {
	var lines []string
	for what, object := range objects {
		if !waits[what] {
			lines = append(lines, fmt.Sprint(what, object.UID, object.Digest))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:digestLength-2*partLength]
}
