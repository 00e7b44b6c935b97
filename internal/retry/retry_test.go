package retry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	helmclient "github.com/operator-framework/helm-operator-plugins/pkg/client"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAFailureReadsLikeItsCauseAndIsTerminal(t *testing.T) {
	cause := fmt.Errorf("render: %w", errBroken)
	for name, row := range map[string]struct {
		helm  helm
		calls pass
	}{
		"a release that cannot be read":  {helm{get: cause}, get},
		"an install that fails":          {helm{install: cause}, install},
		"a dry run that fails":           {helm{dryRun: cause}, upgradeDry},
		"an upgrade that fails":          {helm{upgrade: cause}, upgrade},
		"a repair that fails":            {helm{reconcile: cause}, repair},
		"an uninstall that fails":        {helm{uninstall: cause}, uninstall},
		"an install without its release": {helm{install: driver.ErrReleaseNotFound}, install},
	} {
		t.Run(name, func(t *testing.T) {
			err := newController(t).pass(t, row.helm, row.calls)
			want := errors.Join(row.helm.get, row.helm.install, row.helm.dryRun, row.helm.upgrade, row.helm.reconcile, row.helm.uninstall)
			if err == nil || err.Error() != want.Error() {
				t.Errorf("got %v, want %v", err, want)
			}
			if !errors.Is(err, reconcile.TerminalError(nil)) {
				t.Error("the controller would make the next pass at once")
			}
			if errors.Is(want, errBroken) != errors.Is(err, errBroken) {
				t.Error("the cause is lost")
			}
			if errors.Is(err, context.Canceled) {
				t.Error("it is taken for every error")
			}
		})
	}
}

func TestNoClientIsAFailureToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		c.start(t)
		getter := c.ActionClients(helmclient.ActionClientGetterFunc(
			func(context.Context, client.Object) (helmclient.ActionInterface, error) { return nil, errBroken }))
		obj := &unstructured.Unstructured{}
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		if _, err := getter.ActionClientFor(t.Context(), obj); !errors.Is(err, reconcile.TerminalError(nil)) || !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if waited := c.next(t); waited != firstDelay {
			t.Errorf("the next pass comes after %s", waited)
		}
	})
}

func TestThatThereIsNoReleaseIsNoFailure(t *testing.T) {
	for name, row := range map[string]struct {
		helm  helm
		calls pass
	}{
		"when it is looked up":   {helm{get: driver.ErrReleaseNotFound}, get},
		"when it is uninstalled": {helm{uninstall: driver.ErrReleaseNotFound}, uninstall},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t)
			err := c.pass(t, row.helm, row.calls)
			if !errors.Is(err, driver.ErrReleaseNotFound) || errors.Is(err, reconcile.TerminalError(nil)) || len(c.failing) != 0 {
				t.Errorf("got %v, failing %v", err, c.failing)
			}
		})
	}
}

func TestTheDelaysDouble(t *testing.T) {
	for name, row := range map[string]struct {
		helm  helm
		calls pass
	}{
		"when installs fail":                             {helm{install: errBroken}, install},
		"when dry runs fail":                             {helm{dryRun: errBroken}, upgradeDry},
		"when upgrades fail after their dry runs":        {helm{upgrade: errBroken}, inTurn(upgradeDry, upgrade)},
		"when repairs fail":                              {helm{reconcile: errBroken}, repair},
		"when uninstalls fail":                           {helm{uninstall: errBroken}, uninstall},
		"when several calls fail in one pass":            {helm{get: errBroken}, inTurn(get, get)},
		"when the release cannot be read or uninstalled": {helm{get: errBroken, uninstall: errBroken}, inTurn(get, uninstall)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newController(t)
				c.start(t)
				for _, want := range []time.Duration{2, 4, 8, 16, 32, 64, 120, 120} {
					_ = c.pass(t, row.helm, row.calls)
					if waited := c.next(t); waited != want*time.Second {
						t.Errorf("waited %s, want %d s", waited, want)
					}
				}
			})
		})
	}
}

func TestAPassThatWasNotDueLeavesTheDelaysAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		c.start(t)
		for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
			for range 10 {
				_ = c.pass(t, helm{install: errBroken}, install)
			}
			if waited := c.next(t); waited != want {
				t.Errorf("waited %s, want %s", waited, want)
			}
		}
	})
}

func TestWhatStartsTheDelaysAnew(t *testing.T) {
	for name, row := range map[string]struct {
		calls   pass // that end well
		changed bool // the Collector
		anew    bool
	}{
		"an install that succeeds does":                    {calls: install, anew: true},
		"an upgrade that succeeds does":                    {calls: inTurn(upgradeDry, upgrade), anew: true},
		"a repair that succeeds does":                      {calls: repair, anew: true},
		"an uninstall that succeeds does":                  {calls: uninstall, anew: true},
		"a change of the Collector does":                   {calls: inTurn(), changed: true, anew: true},
		"a dry run that succeeds does not":                 {calls: upgradeDry},
		"a release that is found does not":                 {calls: get},
		"a pass that fails before Helm is asked, does not": {calls: inTurn()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newController(t)
				c.start(t)
				for range 3 {
					_ = c.pass(t, helm{install: errBroken}, install)
					c.next(t)
				}
				if row.changed {
					c.generation++
				}
				_ = c.pass(t, helm{}, row.calls)
				_ = c.pass(t, helm{install: errBroken}, install)
				if waited := c.next(t); (waited == firstDelay) != row.anew {
					t.Errorf("waited %s", waited)
				}
			})
		})
	}
}

func TestAnotherPassComesWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t)
		c.After(key, time.Second) // before there is a queue
		c.start(t)
		c.After(key, time.Minute)
		c.After(key, time.Hour)
		if waited := c.next(t); waited != time.Minute {
			t.Errorf("waited %s", waited)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if c.queue.Len() != 0 {
			t.Error("the later of two passes came too")
		}
	})
}
