package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// maxHistory is how many revisions are kept.
	maxHistory = 3

	// maxRecord is how many bytes of a release a Secret holds, with room for its metadata.
	maxRecord = corev1.MaxSecretSize - 16<<10

	recordType = "helm.sh/release.v1"

	tooLarge = "deployed by kube8-operator; too large to record "
)

// recorded is what is known of a record.
type recorded struct {
	revision   int
	uid        types.UID
	superseded bool
}

func recordedIn(secret *metav1.PartialObjectMetadata, revision int) recorded {
	return recorded{revision, secret.UID, secret.Labels["status"] == release.StatusSuperseded.String()}
}

// A record is the Secret of a revision, as Helm keeps it, for people who use the helm command. The operator decides nothing by it.

// readRecords finds out which revisions are recorded. It reads no content. A record of somebody else is a *ConflictError,
// unless the Collector is being deleted.
func (r *actionClient) readRecords() error {
	if r.records != nil && r.Alone {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.live.List(r.ctx, list, client.InNamespace(r.collector.GetNamespace()),
		client.MatchingLabels{"owner": "helm", "name": r.collector.GetName()})
	if err != nil {
		return fmt.Errorf("list the Secrets of release %s: %w", r.collector.GetName(), err)
	}
	records := []recorded{}
	for i := range list.Items {
		secret := &list.Items[i]
		revision, found := revisionOf(secret.Name, r.collector.GetName())
		switch {
		case metav1.IsControlledBy(secret, r.collector) && found:
			records = append(records, recordedIn(secret, revision))
		case r.collector.GetDeletionTimestamp() == nil && found:
			return r.foreignRecord(secret)
		}
	}
	r.records = records
	return nil
}

func (r *actionClient) foreignRecord(secret client.Object) error {
	r.conflicts = true
	return &ConflictError{fmt.Sprintf(
		"Helm release %q was not made by this operator: Secret %s %s; uninstall it, or rename the Collector",
		r.collector.GetName(), secret.GetName(), ownerOf(secret, r.collector))}
}

func recordName(release string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
}

// revisionOf returns the revision that a Secret records, by the Secret's name.
func revisionOf(secret, release string) (int, bool) {
	number, found := strings.CutPrefix(secret, "sh.helm.release.v1."+release+".v")
	revision, err := strconv.Atoi(number)
	return revision, found && err == nil && revision > 0
}

// record notes that the revisions until now are superseded, records what was applied as the next one, and forgets the oldest.
func (r *actionClient) record() error {
	for _, known := range slices.Clone(r.records) {
		if known.superseded {
			continue
		}
		if err := r.supersede(known); err != nil { // no reason to fail: the next revision has another chance
			log.FromContext(r.ctx).Info("could not note that a revision is superseded", "revision", known.revision, "because", err.Error())
		}
	}
	next := 1
	for _, known := range r.records {
		next = max(next, known.revision+1)
	}
	next, err := r.create(next)
	if err != nil {
		return err
	}
	r.deployed = &Deployed{Revision: next}
	return r.forgetRecords(next - maxHistory)
}

// create creates the record of a revision, and returns its number.
func (r *actionClient) create(revision int) (int, error) {
	metadata := *r.chart.Metadata
	rel := &release.Release{
		Name: r.collector.GetName(), Namespace: r.collector.GetNamespace(), Version: revision,
		Chart:  &chart.Chart{Metadata: &metadata, Values: r.chart.Values},
		Config: r.values, Manifest: r.rendered.public(),
		Info: &release.Info{
			FirstDeployed: helmtime.Time{Time: r.collector.GetCreationTimestamp().Time}, LastDeployed: helmtime.Now(),
			Description: "deployed by kube8-operator",
		},
	}
	packed := map[release.Status][]byte{}
	for _, shorten := range []func(){
		func() {},
		func() { rel.Config, rel.Info.Description = nil, tooLarge+"the values, see the Collector" },
		func() { rel.Manifest, rel.Info.Description = "", tooLarge+"values and manifest, see the Collector" },
	} {
		shorten()
		for _, rel.Info.Status = range []release.Status{release.StatusSuperseded, release.StatusDeployed} {
			var err error
			if packed[rel.Info.Status], err = pack(rel); err != nil {
				return 0, fmt.Errorf("pack the record of revision %d: %w", revision, err)
			}
		}
		if len(packed[release.StatusDeployed]) <= maxRecord {
			break
		}
	}
	content := map[string][]byte{"release": packed[release.StatusDeployed]}
	if len(packed[release.StatusDeployed])+len(packed[release.StatusSuperseded]) <= maxRecord {
		content[release.StatusSuperseded.String()] = packed[release.StatusSuperseded]
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rel.Namespace, Name: recordName(rel.Name, revision),
			Labels: map[string]string{
				"name": rel.Name, "owner": "helm", "status": rel.Info.Status.String(), "version": strconv.Itoa(revision),
				"createdAt": strconv.FormatInt(time.Now().Unix(), 10),
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(r.collector, r.collector.GetObjectKind().GroupVersionKind()),
			},
		},
		Type: recordType, Data: content,
	}
	err := r.cluster.Create(r.ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		return r.skip(revision)
	}
	if err != nil {
		return 0, fmt.Errorf("record revision %d: %w", revision, err)
	}
	r.records = append(r.records, recorded{revision: revision, uid: secret.UID})
	return revision, nil
}

// skip records a revision by the next number, because a record of that one is there and was not listed: it has lost its
// labels, or another operator has just written it.
func (r *actionClient) skip(revision int) (int, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.live.Get(r.ctx, r.keyOf(revision), secret); err != nil {
		return 0, fmt.Errorf("read the record of revision %d: %w", revision, err)
	}
	if !metav1.IsControlledBy(secret, r.collector) {
		return 0, r.foreignRecord(secret)
	}
	r.records = append(r.records, recordedIn(secret, revision))
	return r.create(revision + 1)
}

// supersede notes in a record that there is a later one. The Secret has had the text for that since it was
// created, so nothing is read. Where it has none, only its label says so: in a very large record, a damaged one, and one of
// an earlier version of the operator.
func (r *actionClient) supersede(known recorded) error {
	key, status := r.keyOf(known.revision), release.StatusSuperseded.String()
	note := fmt.Sprintf(`{"op": "test", "path": "/metadata/uid", "value": %q},
		{"op": "add", "path": "/metadata/labels/status", "value": %q},
		{"op": "add", "path": "/metadata/labels/modifiedAt", "value": "%d"}`, known.uid, status, time.Now().Unix())
	var err error
	for _, text := range []string{fmt.Sprintf(`, {"op": "move", "from": "/data/%s", "path": "/data/release"}`, status), ""} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		err = r.cluster.Patch(r.ctx, secret, client.RawPatch(types.JSONPatchType, []byte("["+note+text+"]")))
		if !apierrors.IsInvalid(err) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		r.records = nil // somebody has deleted it, and perhaps others
		return r.readRecords()
	}
	if err != nil {
		return fmt.Errorf("write the record of revision %d: %w", known.revision, err)
	}
	if at := slices.Index(r.records, known); at >= 0 {
		r.records[at].superseded = true
	}
	return nil
}

// forgetRecords deletes the records of all revisions up to one.
func (r *actionClient) forgetRecords(last int) error {
	for _, known := range slices.Clone(r.records) {
		if known.revision > last {
			continue
		}
		key := r.keyOf(known.revision)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		err := r.cluster.Delete(r.ctx, secret, client.Preconditions{UID: &known.uid})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the record of revision %d: %w", known.revision, err)
		}
		r.records = slices.DeleteFunc(r.records, func(other recorded) bool { return other == known })
	}
	return nil
}

func (r *actionClient) keyOf(revision int) client.ObjectKey {
	return client.ObjectKey{Namespace: r.collector.GetNamespace(), Name: recordName(r.collector.GetName(), revision)}
}

// packer packs releases. There is one, because it has buffers of nearly a megabyte.
var (
	packer  = gzip.NewWriter(nil)
	packing sync.Mutex
)

// pack packs a release as Helm stores it.
func pack(rel *release.Release) ([]byte, error) {
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	packing.Lock()
	defer packing.Unlock()
	packer.Reset(encoder)
	err := errors.Join(json.NewEncoder(packer).Encode(rel), packer.Close(), encoder.Close())
	return packed.Bytes(), err
}
