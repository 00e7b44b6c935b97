package status

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/internal/apply"
)

// The reasons of events about requests that the API server refuses and no status can tell of.
const (
	finalizerRefused = "FinalizerRefused"
	statusRefused    = "StatusRefused"
)

// reportedFor is how long a refusal is not reported again. The API server keeps an event for as long, by default.
const reportedFor = time.Hour

// refusals reports in events what no status can say: each refusal once, however often the request is tried again.
type refusals struct {
	events   record.EventRecorder
	reported sync.Map // of refusal, by refused
}

type refused struct {
	collector client.ObjectKey
	reason    string
}

type refusal struct {
	of      types.UID
	message string
	at      time.Time
}

// tell reports an error, by a format with one %s for it, if the error is an answer that stands: not that the Collector has changed or gone
// meanwhile, nor that the answer was lost.
func (r *refusals) tell(collector client.Object, reason, format string, err error) {
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apply.IsLost(err) {
		return
	}
	key := refused{client.ObjectKeyFromObject(collector), reason}
	now := refusal{collector.GetUID(), shorten(fmt.Sprintf(format, err)), time.Now()}
	if found, isKnown := r.reported.Load(key); isKnown {
		before, _ := found.(refusal)
		if now.at.Sub(before.at) < reportedFor && before.of == now.of && before.message == now.message {
			return
		}
	}
	r.reported.Store(key, now)
	r.events.Event(collector, corev1.EventTypeWarning, reason, now.message)
}

// forget forgets what was reported of a Collector that has gone.
func (r *refusals) forget(collector client.ObjectKey) {
	r.reported.Delete(refused{collector, finalizerRefused})
	r.reported.Delete(refused{collector, statusRefused})
}
