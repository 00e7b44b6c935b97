package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
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

	// maxUnpacked is how many bytes of a record are unpacked to note that it is superseded.
	maxUnpacked = 8 << 20

	recordType = "helm.sh/release.v1"
)

// recorded is what is known of a record.
type recorded struct {
	uid    types.UID
	status string
}

// A record is the Secret of a revision, as Helm keeps it, for who uses the helm command. Nothing is decided by it.

// readRecords finds out which revisions are recorded. It reads no content. A record of somebody else is a *ConflictError,
// unless the Collector is being deleted.
func (r *actionClient) readRecords() error {
	if r.records != nil {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.live.List(r.ctx, list, client.InNamespace(r.collector.GetNamespace()),
		client.MatchingLabels{"owner": "helm", "name": r.collector.GetName()})
	if err != nil {
		return fmt.Errorf("list the Secrets of release %s: %w", r.collector.GetName(), err)
	}
	records := map[int]recorded{}
	for i := range list.Items {
		secret := &list.Items[i]
		revision, found := revisionOf(secret.Name, r.collector.GetName())
		switch {
		case metav1.IsControlledBy(secret, r.collector) && found:
			records[revision] = recorded{secret.UID, secret.Labels["status"]}
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
		"Helm release %q was not made by this operator: Secret %s belongs to %s; uninstall it, or rename the Collector",
		r.collector.GetName(), secret.GetName(), ownerOf(secret, r.collector))}
}

func recordName(release string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
}

// revisionOf returns the revision of which a Secret is the record, by the Secret's name.
func revisionOf(secret, release string) (int, bool) {
	number, found := strings.CutPrefix(secret, "sh.helm.release.v1."+release+".v")
	revision, err := strconv.Atoi(number)
	return revision, found && err == nil && revision > 0
}

// record records what was applied as the next revision, notes that the one before is superseded, and forgets the oldest.
func (r *actionClient) record() error {
	revisions := slices.Sorted(maps.Keys(r.records))
	next, first := 1, helmtime.Now()
	var before *corev1.Secret
	var superseded *release.Release
	if len(revisions) > 0 {
		next += revisions[len(revisions)-1]
		before = &corev1.Secret{}
		err := r.live.Get(r.ctx, r.keyOf(next-1), before)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read the record of revision %d: %w", next-1, err)
		}
		superseded = unpack(before.Data["release"])
		if superseded != nil && superseded.Info != nil {
			first = superseded.Info.FirstDeployed
		}
	}
	if err := r.create(next, first); err != nil {
		return err
	}
	if r.deployed == nil {
		r.deployed = &Deployed{}
	}
	deployed := *r.deployed // the status has read the one before
	deployed.Revision = next
	r.deployed = &deployed
	r.supersede(before, superseded)
	for _, revision := range revisions {
		switch {
		case revision <= next-maxHistory:
			if err := r.forgetRecord(revision); err != nil {
				return err
			}
		case revision < next-1 && r.records[revision].status != release.StatusSuperseded.String():
			secret := &corev1.Secret{}
			if err := r.live.Get(r.ctx, r.keyOf(revision), secret); err == nil {
				r.supersede(secret, unpack(secret.Data["release"]))
			}
		}
	}
	return nil
}

// create creates the record of a revision.
func (r *actionClient) create(revision int, first helmtime.Time) error {
	now := helmtime.Now()
	metadata := *r.chart.Metadata
	rel := &release.Release{
		Name: r.collector.GetName(), Namespace: r.collector.GetNamespace(), Version: revision,
		Chart:  &chart.Chart{Metadata: &metadata, Values: r.chart.Values},
		Config: r.values, Manifest: r.rendered.public(),
		Info: &release.Info{
			FirstDeployed: first, LastDeployed: now, Status: release.StatusDeployed, Description: "deployed by kube8-operator",
		},
	}
	content, err := pack(rel)
	if err == nil && len(content) > maxRecord {
		rel.Config, rel.Info.Description = nil, "deployed by kube8-operator; too large to record the values, see the Collector"
		content, err = pack(rel)
	}
	if err == nil && len(content) > maxRecord {
		rel.Manifest, rel.Info.Description = "", "deployed by kube8-operator; too large to record, see the Collector"
		content, err = pack(rel)
	}
	if err != nil {
		return err
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
		Type: recordType, Data: map[string][]byte{"release": content},
	}
	if err := r.cluster.Create(r.ctx, secret); err != nil {
		r.records = nil // somebody has written one since they were read
		return fmt.Errorf("record revision %d: %w", revision, err)
	}
	r.records[revision] = recorded{secret.UID, rel.Info.Status.String()}
	return nil
}

// supersede notes in the record of a revision that there is a later one. Where the record is damaged, its label says so.
// That it fails is no reason to do all again: the next revision has another chance.
func (r *actionClient) supersede(secret *corev1.Secret, rel *release.Release) {
	if secret == nil || !metav1.IsControlledBy(secret, r.collector) {
		return
	}
	revision, _ := revisionOf(secret.Name, r.collector.GetName())
	if rel != nil && rel.Info != nil {
		rel.Info.Status = release.StatusSuperseded
		if content, err := pack(rel); err == nil && len(content) <= maxRecord {
			secret.Data["release"] = content
		}
	}
	secret.Labels["status"] = release.StatusSuperseded.String()
	secret.Labels["modifiedAt"] = strconv.FormatInt(time.Now().Unix(), 10)
	if err := r.cluster.Update(r.ctx, secret); err != nil {
		log.FromContext(r.ctx).Info("could not note that a revision is superseded", "revision", revision, "because", err.Error())
		return
	}
	r.records[revision] = recorded{secret.UID, release.StatusSuperseded.String()}
}

// forgetRecords deletes the records of all revisions.
func (r *actionClient) forgetRecords() error {
	for _, revision := range slices.Sorted(maps.Keys(r.records)) {
		if err := r.forgetRecord(revision); err != nil {
			return err
		}
	}
	return nil
}

func (r *actionClient) forgetRecord(revision int) error {
	key, uid := r.keyOf(revision), r.records[revision].uid
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err := r.cluster.Delete(r.ctx, secret, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the record of revision %d: %w", revision, err)
	}
	delete(r.records, revision)
	return nil
}

func (r *actionClient) keyOf(revision int) client.ObjectKey {
	return client.ObjectKey{Namespace: r.collector.GetNamespace(), Name: recordName(r.collector.GetName(), revision)}
}

// pack writes a release as Helm stores it.
func pack(rel *release.Release) ([]byte, error) {
	text, err := json.Marshal(rel)
	if err != nil {
		return nil, fmt.Errorf("write the record of revision %d: %w", rel.Version, err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		return nil, fmt.Errorf("pack the record of revision %d: %w", rel.Version, err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack the record of revision %d: %w", rel.Version, err)
	}
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}

// unpack reads a release as Helm stores it, or returns nil if it is damaged, or too large for what it can be.
func unpack(content []byte) *release.Release {
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(content)))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil || len(text) > maxUnpacked {
		return nil
	}
	rel := &release.Release{}
	if json.Unmarshal(text, rel) != nil {
		return nil
	}
	return rel
}
