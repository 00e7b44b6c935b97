//go:build e2e

// Package e2e tests the operator on a real node: `make deploy` installs it on the cluster of $KUBECONFIG, and real
// OpenTelemetry Collectors take telemetry in and give it out again. `make e2e` loads the images first.
//
// Each file is one scenario. A test that is not parallel may stop the operator, and leaves it running.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBECONFIG") == "" {
		return 1, errors.New("KUBECONFIG is not set: the suite installs and removes the operator, so say on which cluster")
	}
	// Where the Makefile is, and the samples.
	if err := os.Chdir("../.."); err != nil {
		return 1, err
	}
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	// Tests mostly wait, so more of them can run than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		return 1, err
	}

	ctx := context.Background()
	auditLog.Path = filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "logs", "audit.log")
	if cluster, err = connect(); err != nil {
		return 1, err
	}
	if err := refuseWhereCollectorsAre(ctx); err != nil {
		return 1, err
	}
	if err := auditLog.Skip(); err != nil {
		return 1, err
	}
	if err := deploy(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if err := errors.Join(cleanUp(ctx), checkRefusals()); err != nil {
		return 1, err
	}
	return code, nil
}

// refuseWhereCollectorsAre keeps the suite off a cluster that somebody uses.
func refuseWhereCollectorsAre(ctx context.Context) error {
	var collectors v1alpha1.CollectorList
	err := cluster.List(ctx, &collectors)
	switch {
	case meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for Collectors: %w", err)
	case len(collectors.Items) > 0:
		return fmt.Errorf("this cluster has %d Collectors, and the suite would remove their operator: choose another cluster, "+
			"or delete them", len(collectors.Items))
	}
	return nil
}

// deploy installs the operator as users do, and returns when it runs.
func deploy(ctx context.Context) error {
	if out, err := makeTarget(ctx, "deploy"); err != nil {
		return fmt.Errorf("make deploy: %w\n%s", err, out)
	}
	out, err := kubectl(ctx, "rollout", "status", "deployment", operatorName, "-n", systemNamespace, "--timeout=2m")
	if err != nil {
		return fmt.Errorf("wait for the operator: %w\n%s\n%s", err, out, operatorState(ctx))
	}
	return nil
}

// cleanUp waits until the tests' namespaces are gone, and removes the operator.
func cleanUp(ctx context.Context) error {
	var left corev1.NamespaceList
	err := wait.PollUntilContextTimeout(ctx, time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := cluster.List(ctx, &left, client.HasLabels{suiteLabel})
		return err == nil && len(left.Items) == 0, err
	})
	if err != nil {
		err = fmt.Errorf("wait until the %d namespaces with the label %s are gone: %w", len(left.Items), suiteLabel, err)
	}
	if out, deleteErr := kubectl(ctx, "delete", "-k", "config/collector-roles", "--ignore-not-found"); deleteErr != nil {
		err = errors.Join(err, fmt.Errorf("delete the collectors' roles: %w\n%s", deleteErr, out))
	}
	return errors.Join(err, undeploy(ctx))
}

// undeploy removes the operator as users do, and returns when it is gone.
func undeploy(ctx context.Context) error {
	defer losingRights()()
	if out, err := makeTarget(ctx, "undeploy"); err != nil {
		return fmt.Errorf("make undeploy: %w\n%s", err, out)
	}
	return nil
}
