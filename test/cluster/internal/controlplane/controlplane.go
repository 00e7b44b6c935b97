// Package controlplane starts a real Kubernetes control plane as processes of
// the user who runs it: etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler. It knows nothing of nodes or of what runs on them.
package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/test/cluster/internal/process"
)

// startTimeout is how long etcd, and then kube-apiserver, may take to serve:
// on a machine that compiles at the same time, much longer than usual.
const startTimeout = time.Minute

// Binaries says where the programs are.
type Binaries struct {
	Etcd, APIServer, ControllerManager, Scheduler string
}

// ControlPlane is a control plane that was started.
type ControlPlane struct {
	Config     *rest.Config // of the cluster's administrator
	Kubeconfig string       // the same, as a file

	dir       string
	env       *envtest.Environment
	processes []*process.Process
	logs      []*os.File
}

// Start starts etcd and kube-apiserver and returns once the API serves. All
// files go below dir, which the caller removes after Stop.
func Start(dir string, bin Binaries) (*ControlPlane, error) {
	// Without a logger controller-runtime complains in the middle of the output.
	ctrl.SetLogger(logr.Discard())

	c := &ControlPlane{dir: dir, env: &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		// Said, because USE_EXISTING_CLUSTER would turn to the user's own cluster.
		UseExistingCluster: new(false),
	}}
	for _, sub := range []string{"etcd", "pki", "logs"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	etcdLog, err := c.createLog("etcd")
	if err != nil {
		return nil, err
	}
	apiLog, err := c.createLog("kube-apiserver")
	if err != nil {
		return nil, err
	}
	// envtest looks for a kubectl only to offer a wrapper for it, unused here.
	c.env.ControlPlane.KubectlPath = bin.APIServer
	c.env.ControlPlane.Etcd = &envtest.Etcd{
		Path: bin.Etcd, DataDir: filepath.Join(dir, "etcd"), Out: etcdLog, Err: etcdLog,
	}
	api := c.env.ControlPlane.GetAPIServer()
	api.Path, api.CertDir, api.Out, api.Err = bin.APIServer, c.pki(""), apiLog, apiLog
	// envtest turns service accounts off because tests have no controller
	// that makes them; here there is one.
	api.Configure().Disable("disable-admission-plugins")

	if c.Config, err = c.env.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf(
			"start etcd and kube-apiserver: %w; the end of etcd's log:\n%s\nthe end of kube-apiserver's log:\n%s",
			err, process.Tail(etcdLog.Name(), 5), process.Tail(apiLog.Name(), 10)), c.Stop())
	}
	c.Kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := WriteKubeconfig(c.Kubeconfig, c.Config); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// StartControllers starts kube-controller-manager and kube-scheduler, each
// with the identity and permissions it has in any cluster.
func (c *ControlPlane) StartControllers(bin Binaries) error {
	ca := c.pki("ca.crt")
	if err := os.WriteFile(ca, c.Config.CAData, 0o600); err != nil {
		return err
	}
	// No serving port, no leader election: there is one of each and nothing
	// but their work is of interest.
	common := []string{"--secure-port=0", "--leader-elect=false"}
	if err := c.startComponent("kube-controller-manager", bin.ControllerManager, append(common,
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki("sa-signer.key"),
		"--root-ca-file="+ca,
	)); err != nil {
		return err
	}
	return c.startComponent("kube-scheduler", bin.Scheduler, common)
}

func (c *ControlPlane) startComponent(name, path string, args []string) error {
	kubeconfig, err := c.AddUser(envtest.User{Name: "system:" + name})
	if err != nil {
		return err
	}
	_, err = c.Run(name, exec.Command(path, append([]string{"--kubeconfig=" + kubeconfig}, args...)...))
	return err
}

// AddUser makes a client certificate for a user and returns the path of a
// kubeconfig that carries it.
func (c *ControlPlane) AddUser(user envtest.User) (kubeconfig string, err error) {
	added, err := c.env.AddUser(user, nil)
	if err != nil {
		return "", fmt.Errorf("add user %s: %w", user.Name, err)
	}
	kubeconfig = c.pki(user.Name + ".kubeconfig")
	return kubeconfig, WriteKubeconfig(kubeconfig, added.Config())
}

// Run starts one more process that belongs to the control plane: it is watched
// by Err and stopped, newest first, by Stop.
func (c *ControlPlane) Run(name string, cmd *exec.Cmd) (*process.Process, error) {
	p, err := process.Start(name, filepath.Join(c.dir, "logs", name+".log"), cmd)
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, nil
}

// Err says which process ended by itself, if one did.
func (c *ControlPlane) Err() error {
	for _, p := range c.processes {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops every process, the newest first, and returns once all are gone.
func (c *ControlPlane) Stop() error {
	for _, p := range slices.Backward(c.processes) {
		p.Stop()
	}
	c.processes = nil
	err := c.env.Stop()
	for _, log := range c.logs {
		log.Close()
	}
	return err
}

func (c *ControlPlane) pki(file string) string { return filepath.Join(c.dir, "pki", file) }

func (c *ControlPlane) createLog(name string) (*os.File, error) {
	log, err := os.Create(filepath.Join(c.dir, "logs", name+".log"))
	if err == nil {
		c.logs = append(c.logs, log)
	}
	return log, err
}
