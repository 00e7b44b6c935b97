package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestNoMorePodsAreReadThanAreShown(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	tell(t, "24/25 updated")
	for i := range 25 {
		pod := gatewayPod()
		pod.Name = fmt.Sprintf("gateway-%02d", i)
		create(t, pod)
		if i < 24 {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			g.Expect(admin.Status().Update(t.Context(), pod)).To(Succeed())
			continue
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", Ready: true}} // a sidecar
		g.Expect(admin.Status().Update(t.Context(), pod)).To(Succeed())
		create(t, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, GenerateName: "gateway-"}, Reason: "FailedMount", Type: corev1.EventTypeWarning,
			Message:        `MountVolume.SetUp failed for volume "ca" : secret "ca" not found`,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: tenant, Name: pod.Name, UID: pod.UID},
		})
	}
	to, namespace, err := connect(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	to.WithWatch = interceptor.NewClient(to.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := from.List(ctx, list, options...)
			if pods, is := list.(*corev1.PodList); is {
				g.Expect(len(pods.Items)).To(BeNumerically("<=", 20))
			}
			return err
		},
	})
	of := newPortal(t.Context(), to, []string{namespace}, nil)
	ask := func(path string) string {
		answer := httptest.NewRecorder()
		of.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		g.Expect(answer.Code).To(Equal(http.StatusOK))
		return answer.Body.String()
	}
	g.Expect(ask("/about/" + tenant + "/gateway")).To(ContainSubstring("What happened"))
	g.Expect(strings.Count(ask("/about/"+tenant+"/gateway?tab=logs"), "gateway-")).To(BeNumerically(">=", maxLogged))
}
