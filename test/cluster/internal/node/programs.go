package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// program is one of the programs that make up the cluster.
type program struct {
	name  string
	does  string // what to say of it
	path  string // empty: the built binary of that name
	args  []string
	user  identity // whose kubeconfig it gets as pki/NAME.kubeconfig
	ready func(context.Context) error
}

// programs lists them in the order in which they are started.
func (c *Cluster) programs() []program {
	pki := func(file string) string { return c.path("pki", file) }
	etcd := "unix://" + c.path("etcd.sock")
	kubeconfig := func(name string) string { return "--kubeconfig=" + pki(name+".kubeconfig") }
	return []program{
		{name: "etcd", does: "stores the cluster", args: []string{
			"--data-dir=" + c.path("etcd"), "--unsafe-no-fsync",
			// It has no port, but must name one.
			"--listen-client-urls=" + etcd, "--advertise-client-urls=http://localhost:2379",
			"--listen-peer-urls=unix://" + c.path("etcd-peer.sock"),
		}},
		{name: "kube-apiserver", does: "at " + apiServer, ready: c.apiReady, args: []string{
			"--etcd-servers=" + etcd,
			"--bind-address=" + nodeIP, "--advertise-address=" + nodeIP, "--service-cluster-ip-range=" + services,
			"--client-ca-file=" + pki("ca.crt"),
			"--tls-cert-file=" + pki("kube-apiserver.crt"), "--tls-private-key-file=" + pki("kube-apiserver.key"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + pki("service-accounts.crt"),
			"--service-account-signing-key-file=" + pki("service-accounts.key"),
			"--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority=" + pki("ca.crt"),
			"--audit-policy-file=" + c.path("config", "audit-policy.yaml"), "--audit-log-path=" + c.path("logs", "audit.log"),
			"--kubelet-client-certificate=" + pki("kube-apiserver.crt"), "--kubelet-client-key=" + pki("kube-apiserver.key"),
			// By these, the API servers that an APIService names know who asks.
			"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
			"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		}},
		{
			name: "kube-controller-manager", does: "runs the controllers", user: identity{user: "system:kube-controller-manager"},
			args: []string{
				kubeconfig("kube-controller-manager"), "--secure-port=0", "--leader-elect=false",
				"--use-service-account-credentials", "--root-ca-file=" + pki("ca.crt"),
				"--service-account-private-key-file=" + pki("service-accounts.key"),
			},
		},
		{
			name: "kube-scheduler", does: "places the pods", user: identity{user: "system:kube-scheduler"},
			args: []string{kubeconfig("kube-scheduler"), "--secure-port=0", "--leader-elect=false"},
		},
		{
			name: "containerd", does: "runs the containers", path: "containerd", ready: c.loadPause,
			args: []string{"--config=" + c.path("config", "containerd.toml")},
		},
		{
			name: "kubelet", does: "runs the pods of node " + nodeName, ready: c.nodeReady,
			user: identity{user: "system:node:" + nodeName, group: "system:nodes", hosts: []string{nodeIP}},
			args: []string{
				kubeconfig("kubelet"), "--config=" + c.path("config", "kubelet.yaml"), "--root-dir=" + c.path("kubelet"),
				"--hostname-override=" + nodeName, "--node-ip=" + nodeIP,
			},
		},
		{
			name: "kube-proxy", does: "makes services reachable", user: identity{user: "system:kube-proxy"}, ready: proxyReady,
			args: []string{"--config=" + c.path("config", "kube-proxy.yaml")},
		},
		{
			name: "coredns", does: "answers at " + nodeIP, user: identity{user: "coredns", group: "system:masters"}, ready: dnsReady,
			args: []string{"-conf=" + c.path("config", "Corefile")},
		},
	}
}

// start starts one program and waits until it does its work.
func (c *Cluster) start(ctx context.Context, p program) error {
	path := p.path
	if path == "" {
		path = filepath.Join(c.bin, p.name)
	} else {
		var err error
		if path, err = exec.LookPath(path); err != nil {
			return err
		}
	}
	d, err := startDaemon(c.Dir, p.name, path, p.args...)
	if err != nil {
		return err
	}
	c.daemons = append(c.daemons, d)
	if p.ready == nil {
		return nil
	}
	return c.until(ctx, p.ready)
}

func (c *Cluster) apiReady(ctx context.Context) error {
	_, err := c.kubectl().Run(ctx, nil, "get", "--raw=/readyz")
	return err
}

func (c *Cluster) nodeReady(ctx context.Context) error {
	const status = `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.message}{end}`
	out, err := c.kubectl().Run(ctx, nil, "get", "node", nodeName, "--output="+status)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(out), "True") {
		return fmt.Errorf("node %s is not ready: %s", nodeName, out)
	}
	return nil
}

// proxyReady succeeds once the API server answers at its Service's address.
func proxyReady(ctx context.Context) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(apiService, "443"))
	if err != nil {
		return err
	}
	return conn.Close()
}

func dnsReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(nodeIP, "8181")+"/ready", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("cluster DNS is not ready: " + response.Status)
	}
	return nil
}
