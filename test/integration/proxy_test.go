package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// proxy stands between the operator and the API server, and does to requests what its fault says.
type proxy struct {
	server  *httptest.Server
	forward *httputil.ReverseProxy

	mutex    sync.Mutex
	fault    fault
	injected map[string]int // faults so far, by what was done
}

// cut is what a fault says to have a request's connection cut.
const cut = "cut"

// fault decides about one request: it says what was done to it, or "" after having done nothing.
type fault func(w http.ResponseWriter, r *http.Request) string

// newProxy starts a proxy, and has the shared operator reach the API server through it, with some more flags, until the test ends.
func newProxy(t *testing.T, args ...string) *proxy {
	t.Helper()
	target, err := url.Parse(plane.env.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(plane.env.Config.CAData)
	p := &proxy{injected: map[string]int{}, forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true,
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true // as the API server does
	p.server.Config.ErrorLog = nil
	p.server.StartTLS()

	direct := shared.args
	restart(t, slices.Concat(direct, args, []string{"--kubeconfig=" + p.kubeconfig(t)}))
	t.Cleanup(func() {
		p.inject(nil)
		restart(t, direct)
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// restart stops the shared operator and starts it with other flags.
func restart(t *testing.T, args []string) {
	t.Helper()
	revive(t)
	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	shared.args = args
	forgetLeader(t)                                                          // one that is stopped just when it becomes the leader does not give the Lease back
	if err := shared.start(context.WithoutCancel(t.Context())); err != nil { // a test that ends restarts it too
		t.Fatal(err)
	}
}

// kubeconfig writes a kubeconfig of the operator that points at the proxy.
func (p *proxy) kubeconfig(t *testing.T) string {
	t.Helper()
	direct, err := plane.kubeconfig(t.Context(), shared.account)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(direct)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = p.server.URL
		cluster.CertificateAuthorityData = pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// inject sets what is done to requests from now on; nil forwards them all. Watches that run are cut.
func (p *proxy) inject(f fault) {
	p.mutex.Lock()
	p.fault = f
	p.mutex.Unlock()
	p.server.CloseClientConnections()
}

// total returns how many faults there were.
func (p *proxy) total() (total int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, count := range p.injected {
		total += count
	}
	return total
}

// ServeHTTP forwards a request, unless the fault has dealt with it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	f := p.fault
	p.mutex.Unlock()
	if f != nil {
		if done := f(w, r); done != "" {
			p.mutex.Lock()
			p.injected[done]++
			p.mutex.Unlock()
			if done == cut {
				panic(http.ErrAbortHandler)
			}
			return
		}
	}
	p.forward.ServeHTTP(w, r)
}

// answerError answers a request as the API server does when it refuses one.
func answerError(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the operator may have gone
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "injected by the test",
	})
}

// isWrite says whether a request would change something.
func isWrite(r *http.Request) bool { return r.Method != http.MethodGet }
