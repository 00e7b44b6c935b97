package main

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

//go:embed kwok.yaml
var kwokStages []byte

// startControllers starts what makes pods of Deployments: the controllers for that, the scheduler, and kwok, which simulates the
// only node and what runs on it.
func (p *plane) startControllers(ctx context.Context) (started processes, err error) {
	room := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		room[name] = resource.MustParse("100T") // for as many pods as there are
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}}
	if err := p.client.Create(ctx, node); err != nil {
		return nil, err
	}
	node.Spec.Taints = nil // a controller that does not run would take away the one that new nodes get
	if err := p.client.Update(ctx, node); err != nil {
		return nil, err
	}
	node.Status = corev1.NodeStatus{Capacity: room, Allocatable: room}
	if err := p.client.Status().Update(ctx, node); err != nil {
		return nil, err
	}
	stages := filepath.Join(p.dir, "kwok.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return nil, err
	}
	for name, args := range map[string][]string{
		"kube-controller-manager": {"--secure-port=0", "--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=1000",
			"--controllers=deployment-controller,replicaset-controller"},
		"kube-scheduler": {"--secure-port=0", "--leader-elect=false"},
		"kwok":           {"--manage-all-nodes", "--config=" + stages},
	} {
		user, err := p.env.AddUser(envtest.User{Name: name, Groups: []string{"system:masters"}}, nil)
		if err != nil {
			return started, err
		}
		text, err := user.KubeConfig()
		if err != nil {
			return started, err
		}
		kubeconfig := filepath.Join(p.dir, name+".kubeconfig")
		if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
			return started, err
		}
		one, err := start(p.dir, name, filepath.Join(p.dir, name+".log"), nil,
			filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name), append(args, "--kubeconfig="+kubeconfig)...)
		if err != nil {
			return started, err
		}
		started = append(started, one)
	}
	return started, nil
}

// processes are what belongs to a control plane.
type processes []*process

// alive returns an error if one of them has ended.
func (ps processes) alive() (err error) {
	for _, p := range ps {
		err = errors.Join(err, p.alive())
	}
	return err
}

// stop ends all of them.
func (ps processes) stop() (err error) {
	for _, p := range ps {
		err = errors.Join(err, p.stop())
	}
	return err
}
