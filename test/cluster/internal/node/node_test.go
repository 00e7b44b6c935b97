package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

func TestImportedImagesAreFound(t *testing.T) {
	const digest = "sha256:34cdd42fec2cce8626b485c2321c007265702278b9d2e6487c2f6743eac92f93"
	out := "unpacking localhost:5000/team/app:v1.0 (" + digest + ")...done\nunpacking other (" + digest + ")...done\n"
	want := [][]string{{"localhost:5000/team/app:v1.0", "localhost:5000/team/app", digest}}
	var got [][]string
	for _, found := range imported.FindAllStringSubmatch(out, -1) {
		got = append(got, found[1:])
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckDir(t *testing.T) {
	for name, test := range map[string]struct {
		dir  string
		good bool
	}{
		"the default is good":                           {DefaultDir, true},
		"a blank would end a word in a configuration":   {"/var/lib/my cluster", false},
		"a quote would end a string in a configuration": {`/var/lib/"`, false},
		"no socket fits into a long folder":             {"/" + strings.Repeat("x", 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkDir(test.dir); (err == nil) != test.good {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestDownLeavesAFolderThatIsNotACluster(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, Out: io.Discard}
	if err := c.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "KUBE8_CLUSTER_DIR") {
		t.Errorf("got error %v, want one that names KUBE8_CLUSTER_DIR", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestDownOfNoClusterSaysSo(t *testing.T) {
	var out bytes.Buffer
	c := &Cluster{Dir: filepath.Join(t.TempDir(), "none"), Out: &out}
	if err := c.Down(t.Context()); err != nil || out.String() != "the cluster is down already\n" {
		t.Errorf("got %v, %q", err, &out)
	}
}

func TestConfigsAreWritten(t *testing.T) {
	c := &Cluster{Dir: t.TempDir()}
	if err := c.writeConfigs("/plugins"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"config/containerd.toml": `state = "` + c.Dir + `/containerd-state"`,
		"config/kubelet.yaml":    "containerRuntimeEndpoint: unix://" + c.socket(),
		"config/kube-proxy.yaml": "clusterCIDR: " + podRange,
		"config/Corefile":        "bind " + nodeIP,
		"config/resolv.conf":     "nameserver " + nodeIP,
		"cni/cni.conflist":       `"bridge": "` + bridge + `"`,
	} {
		content, err := os.ReadFile(c.path(file))
		if err != nil || !strings.Contains(string(content), want) || strings.Contains(string(content), "<no value>") {
			t.Errorf("%s: %v, got\n%s\nwant it to hold %s and every value", file, err, content, want)
		}
	}
}

func TestKubeconfigIsSignedByTheClustersAuthority(t *testing.T) {
	dir := t.TempDir()
	ca, err := newAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := ca.issueKubeconfig(path, identity{file: "a", user: "me", group: "us", hosts: []string{nodeIP, "name"}}); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(decode(config.CertData))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	for _, host := range []string{nodeIP, "name"} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Error(err)
		}
	}
	if cert.Subject.CommonName != "me" || !slices.Equal(cert.Subject.Organization, []string{"us"}) {
		t.Errorf("got subject %s", cert.Subject)
	}
}

func TestImageArchiveHoldsTheProgram(t *testing.T) {
	archive, err := imageArchive("example.com/x:1", "x", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, archive)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{"example.com/x:1"}) {
		t.Fatalf("got manifest %+v", manifest)
	}
	layer := files[manifest[0].Layers[0]]
	if !strings.Contains(string(files[manifest[0].Config]), fmt.Sprintf("sha256:%x", sha256.Sum256(layer))) {
		t.Errorf("the configuration does not name the layer: %s", files[manifest[0].Config])
	}
	if got := untar(t, layer)["x"]; string(got) != "program" {
		t.Errorf("got program %q", got)
	}
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDaemonIsKnownToALaterRun(t *testing.T) {
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := startDaemon(dir, "sleeper", path, "600"); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir}
	found, err := recordedDaemons(dir)
	if err != nil || len(found) != 1 || !found[0].runs() || found[0].Err() != nil {
		t.Fatalf("got %v, %v, want one that runs", found, err)
	}
	other := *found[0]
	other.started += "0"
	if other.runs() {
		t.Error("a process that has its id, but started later, is taken for it")
	}
	if err := c.stopDaemons(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found[0].runs() {
		t.Error("it still runs")
	}
	if err := found[0].Err(); err == nil || !strings.Contains(err.Error(), "sleeper is not running") {
		t.Errorf("got error %v", err)
	}
}

func TestUntilEndsWhenADaemonDoes(t *testing.T) {
	path, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d, err := startDaemon(dir, "failing", path)
	if err != nil && d == nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, daemons: []*daemon{d}}
	start := time.Now()
	err = c.until(t.Context(), func(context.Context) error { return errors.New("never") })
	if err == nil || !strings.Contains(err.Error(), "failing is not running") || time.Since(start) > startTimeout/2 {
		t.Errorf("got error %v", err)
	}
}
