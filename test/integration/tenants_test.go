package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The tests whose names begin with TestTenants measure an operator that logs as little as the shipped one, in place of the shared one.

// startMeasured starts such an operator until the test ends. Its namespaces must be there before: the shared one finishes them.
func startMeasured(t *testing.T) *operator {
	t.Helper()
	if err := shared.stop(); err != nil {
		t.Fatal(err)
	}
	measured := &operator{binary: shared.binary, account: shared.account, args: []string{
		"--leader-elect", "--leader-election-namespace=" + systemNamespace, "--zap-log-level=info",
	}}
	t.Cleanup(func() {
		if err := errors.Join(measured.stop(), shared.start(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err := measured.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return measured
}

// process returns what the system knows of an operator.
func (o *operator) process(t *testing.T) (procfs.ProcStat, procfs.ProcStatus) {
	t.Helper()
	process, err := procfs.NewProc(o.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, statError := process.Stat()
	status, statusError := process.NewStatus()
	if err := errors.Join(statError, statusError); err != nil {
		t.Fatal(err)
	}
	return stat, status
}

// memory returns how much memory an operator has now and has had at most, in MiB.
func (o *operator) memory(t *testing.T) (now, most int) {
	t.Helper()
	_, status := o.process(t)
	return int(status.VmRSS >> 20), int(status.VmHWM >> 20)
}

// processorTime returns how long an operator has had a processor.
func (o *operator) processorTime(t *testing.T) time.Duration {
	t.Helper()
	stat, _ := o.process(t)
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

// newHostile returns what a tenant can write that costs a reader most. Each number is of another kind.
func newHostile(namespace string, number int) *v1alpha1.Collector {
	collector := newCollector(namespace, fmt.Sprintf("hostile-%d", number))
	var text strings.Builder
	switch number % 10 {
	case 3: // a long prefix of thousands of tags
		text.WriteString("%TAG ! tag:" + strings.Repeat("x", 120<<10) + "\n---\na: [" + strings.Repeat("!b ,", 30000) + "]\n")
	case 0, 6: // one long string, and thousands of aliases of it
		text.WriteString("a: &a " + strings.Repeat("x", 200<<10) + "\nb: [" + strings.Repeat("*a,", 2000) + "]\n")
	case 1, 4, 7: // keys, one of them twice
		for i := 0; text.Len() < 250<<10; i++ {
			fmt.Fprintf(&text, "%x:\n", i)
		}
		text.WriteString("0: 1\n")
	case 9: // as many entries as the schema takes
		text.WriteString("a: b\n")
		files := corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{Items: slices.Repeat([]corev1.KeyToPath{{Key: "a", Path: "a"}}, 16)}}
		for i := range 64 {
			volume := corev1.Volume{Name: fmt.Sprintf("v%d", i)}
			volume.Projected = &corev1.ProjectedVolumeSource{Sources: slices.Repeat([]corev1.VolumeProjection{files}, 16)}
			collector.Spec.ExtraVolumes = append(collector.Spec.ExtraVolumes, volume)
		}
	case 2, 5, 8: // what the API server refuses of the workload
		text.WriteString("a: b\n")
		collector.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "missing", MountPath: "/missing"}}
	}
	collector.Spec.Collector.Configuration = []byte(text.String())
	return collector
}

func TestTenantsWithHostileCollectorsKeepNobodyWaiting(t *testing.T) {
	hostile, other := newNamespace(t), newNamespace(t)
	measured := startMeasured(t)
	var all []*v1alpha1.Collector
	for number := range 100 {
		collector := newHostile(hostile, number)
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		all = append(all, collector)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	kind := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Collector"}
	go func() { // the tenant changes one after the other, as fast as client-go lets it by default; more would be the API server's to limit
		var failed error
		pace := time.NewTicker(time.Second / time.Duration(rest.DefaultQPS))
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			changed := &metav1.PartialObjectMetadata{TypeMeta: kind, ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: all[i%len(all)].Name}}
			version := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"collector": {"version": "0.%d.0"}}}`, i))
			<-pace.C
			failed = errors.Join(failed, client.IgnoreNotFound(plane.client.Patch(context.Background(), changed, version)))
		}
		stopped <- failed
	}()
	var waited, worked []time.Duration
	for number := range 50 {
		collector := newCollector(other, fmt.Sprintf("good-%d", number))
		begin, before := time.Now(), measured.processorTime(t)
		if err := plane.client.Create(t.Context(), collector); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
			err := plane.client.Get(ctx, client.ObjectKeyFromObject(collector), collector)
			return collector.Status.DeployedRelease != nil, err
		})
		if err != nil {
			t.Fatalf("%s: %v", collector.Name, err)
		}
		waited, worked = append(waited, time.Since(begin)), append(worked, measured.processorTime(t)-before)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	slices.Sort(waited)
	now, most := measured.memory(t)
	select {
	case err := <-measured.ended:
		measured.ended <- err
		t.Fatalf("the operator has ended: %v", err)
	default:
	}
	worst, median := waited[len(waited)-1], waited[len(waited)/2]
	recordFigure(t, "A new Collector beside 100 hostile ones of another tenant is deployed after (median)", median.Round(time.Millisecond))
	recordFigure(t, "The same (the slowest of 50)", worst.Round(time.Millisecond))
	recordFigure(t, "What the operator works meanwhile, at most", slices.Max(worked).Round(10*time.Millisecond))
	recordFigure(t, "Memory of the operator then (at most), MiB", fmt.Sprintf("%d (%d)", now, most))
	// Beside builds and other tests the operator waits for a processor too. What it works until then does not depend on that.
	if slices.Max(worked) > 2*time.Second || worst > 30*time.Second || most > 200 {
		t.Errorf("another tenant waited %s, while the operator worked for %s and took %d MiB", worst, slices.Max(worked), most)
	}
}

// Go collects garbage before it takes more memory than GOMEMLIMIT. So what it has beyond that is what the operator keeps.
func TestTenantsWithHostileObjectsFillNoMemory(t *testing.T) {
	namespace := newNamespace(t)
	measured := startMeasured(t)
	t.Setenv("GOMEMLIMIT", "40MiB")
	restart := func() {
		if err := errors.Join(measured.stop(), measured.start(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	collector := newCollector(namespace, "gateway")
	deploys := func(version string, revision int) (memory int) {
		change(t, collector, func(c *v1alpha1.Collector) { c.Spec.Collector.Version = version })
		awaitRevision(t, collector, revision)
		memory, _ = measured.memory(t)
		return memory
	}
	if err := plane.client.Create(t.Context(), collector); err != nil {
		t.Fatal(err)
	}
	awaitRevision(t, collector, 1)
	restart()
	before := deploys("0.151.0", 2)
	labelled := metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{v1alpha1.CollectorLabel: "gateway"}}
	long := strings.Repeat("x", 200<<10)
	create := func(object client.Object) {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		pod := &corev1.Pod{ObjectMeta: labelled}
		pod.Name = fmt.Sprintf("pod-%d", i)
		pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "a"}}
		for n := range 15000 {
			volume := corev1.Volume{Name: fmt.Sprint("v", n)}
			volume.Secret = &corev1.SecretVolumeSource{SecretName: fmt.Sprint("gateway-", n)}
			pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
		}
		create(pod)
	}
	for i := range 400 {
		configMap := &corev1.ConfigMap{ObjectMeta: *labelled.DeepCopy()}
		configMap.Name, configMap.Annotations = fmt.Sprintf("map-%d", i), map[string]string{"kube8.dev/checked": long}
		create(configMap)
	}
	for i := range 25 {
		secret := &corev1.Secret{ObjectMeta: labelled, Data: map[string][]byte{"a": []byte(strings.Repeat(long, 4))}}
		secret.Name = fmt.Sprintf("secret-%d", i)
		create(secret)
	}
	after := deploys("0.152.0", 3)
	restart()
	again := deploys("0.153.0", 4)
	recordFigure(t, "Memory before 445 hostile objects of a tenant, with them, and after a restart, MiB",
		fmt.Sprintf("%d, %d, %d", before, after, again))
	if after > before+20 || again > before+20 {
		t.Errorf("%d MiB became %d, and %d after a restart", before, after, again)
	}
}
