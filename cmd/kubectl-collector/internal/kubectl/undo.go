package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
	"github.com/kube8/kube8-operator/internal/sources"
)

// maxAsked is how many Collectors' histories are read for the content that a base had, and mostAsked if these do not have it. More are read
// only for other versions.
const maxAsked, mostAsked = 20, 200

// base is a ConfigMap or Secret with a part of configurations.
type base struct {
	client.Object
	what, key string
	content   []byte
}

func (s *session) base(ctx context.Context, namespace, name string) (*base, error) {
	for _, b := range []*base{{Object: &corev1.ConfigMap{}, what: "configmap/" + name}, {Object: &corev1.Secret{}, what: "secret/" + name}} {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, b.Object)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read base %s: %w", name, err)
		}
		if _, isBase := b.GetLabels()[v1alpha1.BaseLabel]; !isBase {
			continue
		}
		data := sources.DataOf(b.Object)
		for b.key, b.content = range data {
		}
		if len(data) != 1 {
			return nil, fmt.Errorf("base %s in namespace %s has %d keys, and is to have one; change it by kubectl edit",
				b.what, namespace, len(data))
		}
		return b, nil
	}
	return nil, fmt.Errorf("namespace %s has no base %s; `kubectl get configmaps,secrets -A -l %s` lists those that there are, "+
		"and --operator-namespace says where to look", namespace, name, v1alpha1.BaseLabel)
}

// put sets the content, in the object only.
func (b *base) put(content []byte) {
	switch object := b.Object.(type) {
	case *corev1.ConfigMap:
		if object.Data, object.BinaryData = nil, map[string][]byte{b.key: content}; utf8.Valid(content) {
			object.Data, object.BinaryData = map[string]string{b.key: string(content)}, nil
		}
	case *corev1.Secret:
		object.Data = map[string][]byte{b.key: content}
	}
}

func (p *plugin) undoCommand() *cobra.Command {
	var to string
	var given consent
	cmd := &cobra.Command{
		Use: "undo BASE", Short: "Put the content back that a base had before", Args: cobra.ExactArgs(1),
		Long: `Put the content back that a base had before: of the version that most namespaces
have, if that is another one than now, or of the newest one that Collectors have
recorded, or of --to. Collectors that are on their way or overdue get it at once, the
others in waves.

Records are in the namespaces of tenants, so look at the difference that is shown.
With --yes, name the version by --to.`,
	}
	cmd.ValidArgsFunction = p.completed(func(ctx context.Context, s *session, named []string) (names []string, err error) {
		if len(named) > 0 {
			return nil, nil
		}
		namespace, _ := cmd.Flags().GetString("operator-namespace")
		for _, list := range []*metav1.PartialObjectMetadataList{metadataOf("ConfigMap"), metadataOf("Secret")} {
			err = errors.Join(err, s.client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.BaseLabel}))
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
		}
		return names, err
	})
	addSelector(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the version, as 'rollout status' and 'history' show it")
	given.addFlags(cmd.Flags())
	p.ofFleet(cmd, func(ctx context.Context, s *session, operators string, args []string) error {
		if given.yes && to == "" {
			return errors.New("with --yes, name the version by --to; without it, you see the difference and confirm it")
		}
		if err := p.mayAsk(given); err != nil {
			return err
		}
		return p.undo(ctx, s, operators, args[0], to, given)
	})
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) undo(ctx context.Context, s *session, namespace, name, to string, given consent) error {
	b, err := s.base(ctx, namespace, name)
	if err != nil {
		return err
	}
	if tool := explain.Keeper(b); tool != "" && !given.force {
		return fmt.Errorf("%s manages base %s and would change it back; change it in git, or add --force", tool, b.what)
	}
	content, from, err := s.contentBefore(ctx, b, to)
	if err != nil {
		return err
	}
	text, err := unified(b.what+" ("+sources.VersionOf(b.content)+")", string(b.content),
		b.what+" ("+sources.VersionOf(content)+" of "+from+")", string(content))
	if err := errors.Join(err, p.paint(text, diffColour)); err != nil {
		return err
	}
	if !given.yes && !p.isDry() && !p.ask(ctx, "Change base "+b.what+"?") {
		return errDeclined
	}
	b.put(content)
	err = s.client.Update(ctx, b.Object) // of the version that was read
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another client has changed base %s meanwhile, so nothing was changed; look at it, and try again", b.what)
	}
	if err != nil {
		return fmt.Errorf("change base %s: %w", b.what, err)
	}
	return p.did(b.what, "has the content of version "+sources.VersionOf(content)+" again")
}

// having is a Collector that has a version of a base.
type having struct {
	collector *v1alpha1.Collector // its metadata
	version   string
	revision  int64
}

// contentBefore returns the content that a base had before, or as version to, and whose record has it. While most namespaces still have
// another version, that is the one before: the base may have been changed more than once since. A revision has bases as they were when it
// was deployed, so otherwise the newest revision with another version has it.
func (s *session) contentBefore(ctx context.Context, b *base, to string) (content []byte, from string, err error) {
	var all []having
	err = s.eachCollector(ctx, func(c *v1alpha1.Collector) {
		for _, known := range c.Status.Bases {
			if version, has := strings.CutPrefix(known, b.GetName()+"@"); has && c.Status.DeployedRelease != nil {
				all = append(all, having{&v1alpha1.Collector{ObjectMeta: c.ObjectMeta}, version, c.Status.DeployedRelease.Revision})
			}
		}
	})
	if err != nil {
		return nil, "", err
	}
	sorted := inTurn(all)
	for _, version := range slices.Compact([]string{cmp.Or(to, mostHave(all, sources.VersionOf(b.content))), to}) {
		if content, from, err = s.recorded(ctx, b, sorted, version); content != nil || err != nil {
			return content, from, err
		}
	}
	if to != "" {
		return nil, "", fmt.Errorf("no Collector has recorded version %s of base %s other than it is now", to, b.what)
	}
	return nil, "", fmt.Errorf("no Collector has recorded another version of base %s; `kubectl collector history` shows those of a Collector",
		b.what)
}

// mostHave returns the version that most namespaces have, or nothing if that is the one of now, or none. Collectors of one namespace may
// have different versions, so two can be in most namespaces: the one in more of them counts, or the first by name.
func mostHave(all []having, now string) (most string) {
	namespaces, versions := map[string]bool{}, map[string]map[string]bool{}
	for _, one := range all {
		namespaces[one.collector.Namespace] = true
		if versions[one.version] == nil {
			versions[one.version] = map[string]bool{}
		}
		versions[one.version][one.collector.Namespace] = true
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		in := len(versions[version])
		if version != now && 2*in > len(namespaces) && in > len(versions[now]) && in > len(versions[most]) {
			most = version
		}
	}
	return most
}

// inTurn sorts Collectors for reading their records. Each namespace has its turn, so that no tenant answers for all. Collectors with few
// revisions come first, because their records go back longest. The first revision has no other version.
func inTurn(all []having) []having {
	age := func(one having) uint64 { return uint64(one.revision) - 2 } //nolint:gosec // the first one becomes the largest
	all = slices.SortedStableFunc(slices.Values(all), func(a, b having) int { return cmp.Compare(age(a), age(b)) })
	ranks, count := make(map[*v1alpha1.Collector]int, len(all)), map[string]int{}
	for _, one := range all {
		ranks[one.collector] = count[one.collector.Namespace]
		count[one.collector.Namespace]++
	}
	slices.SortStableFunc(all, func(a, b having) int { return cmp.Compare(ranks[a.collector], ranks[b.collector]) })
	return all
}

// recorded returns the newest content of a base that is recorded and not as now, of a version or of any, and whose record has it.
func (s *session) recorded(ctx context.Context, b *base, all []having, version string) (content []byte, from string, err error) {
	var newest time.Time
	isAsked, now := map[string]bool{}, sources.VersionOf(b.content)
	for i, one := range all {
		if i >= maxAsked && isAsked[one.version] && (content != nil || i >= mostAsked) {
			continue
		}
		isAsked[one.version] = true
		there := *s
		there.namespace = one.collector.Namespace
		revisions, err := there.revisions(ctx, one.collector)
		if err != nil {
			return nil, "", err
		}
		for _, revision := range revisions {
			had := revision.Base(b.GetName())
			its := sources.VersionOf(had)
			if had != nil && its != now && (version == "" || its == version) && revision.Deployed.After(newest) {
				content, newest = had, revision.Deployed
				from = fmt.Sprintf("%s of Collector %s/%s", revision, there.namespace, one.collector.Name)
			}
		}
	}
	return content, from, nil
}
