package flow

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/test/cputime"
)

const (
	// fleet is how many Collectors there are, each with a pod.
	fleet = 10000

	// servePages has this test's program serve their pages, so that the operator's share is measured alone.
	servePages = "FLOW_SERVE_PAGES"

	fleetPort = 18888
)

func TestMain(m *testing.M) {
	if os.Getenv(servePages) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// addressOfPod returns a loopback address of its own for each pod.
func addressOfPod(i int) string { return fmt.Sprintf("127.%d.%d.%d", 1+i/62500, i/250%250, 1+i%250) }

// serve serves a page of 44 KB at the address of each pod, until its standard input ends.
func serve() error {
	text, requests := page(490), atomic.Int64{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := requests.Add(1)
		fmt.Fprintf(w, "otelcol_receiver_accepted_spans_total{receiver=\"own\"} %d\notelcol_exporter_sent_spans_total %d\n%s", n, n, text)
	})
	for i := range fleet {
		listener, err := net.Listen("tcp", net.JoinHostPort(addressOfPod(i), strconv.Itoa(fleetPort)))
		if err != nil {
			return err
		}
		go func() { _ = (&http.Server{Handler: handler, ReadHeaderTimeout: answerTimeout}).Serve(listener) }()
	}
	fmt.Println(len(text))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(requests.Load())
	return nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkFleet measures what 10,000 Collectors with a flow cost the operator, with pages on loopback addresses.
func BenchmarkFleet(b *testing.B) {
	pages := exec.Command(os.Args[0])
	pages.Env, pages.Stderr = append(os.Environ(), servePages+"=1"), os.Stderr
	in, err := pages.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := pages.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := pages.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	size := lines.Text()

	collectors, cached := make([]unstructured.Unstructured, fleet), make(pods, fleet)
	for i := range collectors {
		collectors[i] = *collectorWith("collector-"+strconv.Itoa(i), map[string]any{"port": int64(fleetPort)})
		collectors[i].SetNamespace("tenant-" + strconv.Itoa(i%100))
		cached[i] = podOf(&collectors[i], addressOfPod(i))
	}
	w := newWatcher(collectors, cached)
	var mutex sync.Mutex
	told := map[string]int{}
	w.Requeue = func(of client.Object) {
		mutex.Lock()
		defer mutex.Unlock()
		if condition := w.Condition(of); condition != nil {
			told[condition.Reason]++
		}
	}
	const looks = 3
	before, began := heap(), cputime.Own()
	for b.Loop() {
		for range looks {
			start := time.Now()
			if err := w.look(context.Background()); err != nil {
				b.Fatal(err)
			}
			<-time.After(time.Until(start.Add(Period))) // as the next look comes
		}
	}
	cost, after := cputime.Own()-began, heap()
	b.ReportMetric(cost.Seconds()/(looks*Period.Seconds()), "cores")
	b.ReportMetric(float64(after-before)/fleet, "bytes/pod")
	if err := in.Close(); err != nil {
		b.Fatal(err)
	}
	lines.Scan()
	if err := pages.Wait(); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s pages of %s bytes were read; told: %v", strings.TrimSpace(lines.Text()), size, told)
	runtime.KeepAlive(w)
}
