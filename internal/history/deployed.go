package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/plan"
	"github.com/kube8/kube8-operator/internal/render"
)

// Deployed says what a deployed revision is, without its content. The zero value says that there is none.
type Deployed struct {
	// Revision is the release's revision, from 1.
	Revision int

	// Generation is the Collector's generation that is deployed.
	Generation int64

	// Version is what the image is chosen by: its digest, its tag, or the collector's version, as the spec has them.
	Version string

	// ConfigHash is the SHA-256 of the decoded configuration, in hex.
	ConfigHash string

	// Bases are the bases, as the status tells them, with spaces between them.
	Bases string

	// Template is the stamp of the pod template. It is empty if pods have none, for lack of a canary.
	Template string

	// Digest has three parts, of 20, 20 and 24 letters: what the revision was rendered from, what was rendered, and the objects. By
	// it an operator that has just started knows that there is nothing to do, and does not even render.
	Digest string

	// History are the revisions that are recorded, as the status has them. Nil says that it is not known.
	History []v1alpha1.RecordedRevision
}

const (
	partLength   = 20
	digestLength = 64
)

var (
	// unknown is the first part of a digest whose inputs are not known.
	unknown = strings.Repeat("-", partLength)

	// unseen is the last part of a digest as long as the informer cache has not shown all objects.
	unseen = strings.Repeat("-", digestLength-2*partLength)
)

// Recall returns the deployed revision that a Collector's status tells of.
func Recall(collector *unstructured.Unstructured) (reported Deployed) {
	status, _ := collector.Object["status"].(map[string]any)
	number, _, _ := unstructured.NestedInt64(status, "deployedRelease", "revision")
	reported.Revision = int(number)
	reported.Digest, _, _ = unstructured.NestedString(status, "deployedRelease", "digest")
	reported.Template, _, _ = unstructured.NestedString(status, "deployedRelease", "template")
	reported.Generation, _, _ = unstructured.NestedInt64(status, "deployedRelease", "generation")
	reported.Version, _, _ = unstructured.NestedString(status, "version")
	reported.ConfigHash, _, _ = unstructured.NestedString(status, "configHash")
	bases, _, _ := unstructured.NestedStringSlice(status, "bases")
	reported.Bases = strings.Join(bases, " ")
	reported.History = history(status)
	return reported
}

// history returns which revisions a status says are recorded, or nil if it does not say it.
func history(status map[string]any) (reported []v1alpha1.RecordedRevision) {
	entries, _ := status["history"].([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		var of v1alpha1.RecordedRevision
		of.Revision, _ = fields["revision"].(int64)
		of.Generation, _ = fields["generation"].(int64)
		of.Hash, _ = fields["hash"].(string)
		uid, _ := fields["uid"].(string)
		of.UID = types.UID(uid)
		reported = append(reported, of)
	}
	return reported
}

// Deployed returns the revision as a deployed one, whose objects the informer cache has not shown yet.
func (r *Revision) Deployed(number int) Deployed {
	return Deployed{
		Revision: number, Generation: r.Inputs.Generation, Version: versionOf(r.Values), ConfigHash: r.ConfigHash, Bases: r.Bases,
		Digest: r.Inputs.digest() + r.Hash + unseen, Template: plan.TemplateOf(r.First(render.Workloads)),
	}
}

// Hash tells what was rendered for the revision apart from anything else. It is empty if that is not known.
func (d Deployed) Hash() string {
	_, hash, _ := d.parts()
	return hash
}

// IsFrom tells whether the revision was rendered from some inputs.
func (d Deployed) IsFrom(inputs Inputs) bool {
	from, _, _ := d.parts()
	return from == inputs.digest()
}

// IsSeen tells whether the objects that the informer cache has are those that it had when all were in order.
func (d Deployed) IsSeen(objects map[live.Reference]live.Object) bool {
	_, _, seen := d.parts()
	return seen == digestOf(objects, nil)
}

// Seen notes that the objects that the informer cache has are in order.
func (d *Deployed) Seen(objects map[live.Reference]live.Object, toPrune map[live.Reference]bool) {
	if inputs, hash, _ := d.parts(); hash != "" {
		d.Digest = inputs + hash + digestOf(objects, toPrune)
	}
}

func (d Deployed) parts() (inputs, hash, objects string) {
	if len(d.Digest) != digestLength {
		return "", "", ""
	}
	return d.Digest[:partLength], d.Digest[partLength : 2*partLength], d.Digest[2*partLength:]
}

// PartOf returns a part of a period, between a half and all of it, which is another one for each Collector: not all are rendered again at
// the same time, one period after a start, and none soon after it.
func (i Inputs) PartOf(period time.Duration) time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(i.Collector)) // fails never
	return period/2 + time.Duration(float64(period/2)*float64(sum.Sum32())/math.MaxUint32)
}

func (i Inputs) digest() string {
	if i.Collector == "" {
		return unknown
	}
	sum := sha256.New()
	for _, part := range []string{
		i.Build, i.Chart, i.Served, i.Configuration, i.References, i.Bases, string(i.Collector), strconv.FormatInt(i.Generation, 10),
	} {
		fmt.Fprintf(sum, "%d %s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:partLength]
}

// digestOf returns the digest of objects that the informer cache has, without those that wait to be pruned: they must be,
// also after a restart. So must pods, which are no objects of the revision.
func digestOf(objects map[live.Reference]live.Object, toPrune map[live.Reference]bool) string {
	var lines []string
	for what, object := range objects {
		if !toPrune[what] {
			lines = append(lines, fmt.Sprint(what, object.UID, object.Digest))
		}
	}
	for what := range toPrune {
		if what.Kind().Kind == "Pod" {
			lines = append(lines, what.Use())
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:digestLength-2*partLength]
}
