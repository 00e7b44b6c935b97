package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestWhatTheEditorHasSavedIsChangedByAnApplication(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	text, tag := opened(t, "")
	text = strings.NewReplacer("debug: {}", "debug: {} # edited", "spec:\n", "spec:\n  replicas: 3\n").Replace(text)
	code, says := save(t, "", text, "If-Match", tag)
	g.Expect(code).To(Equal(http.StatusOK), says)

	inSecret := valid()
	inSecret.Configuration, inSecret.ConfigurationSecret = "", &v1alpha1.ConfigurationSecret{Name: "a", Key: "b"}
	put(t, "gateway", inSecret)
	g.Expect(get(t).Spec.Collector.ConfigurationText).To(BeEmpty())
	g.Expect(get(t).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)), "what an application does not send stays")
	g.Expect(get(t).Annotations).NotTo(HaveKey(beforeAnnotation), "it has the configuration that has moved")
	without := valid()
	without.Configuration = ""
	put(t, "gateway", without)
	g.Expect(get(t).Spec.Collector.ConfigurationSecret).To(BeNil())
}

func TestAnApplicationSaysWhetherItsSecretIsCopied(t *testing.T) {
	g := NewWithT(t)
	asked := valid()
	for name, row := range map[string]struct{ before, copied *bool }{
		"not to copy, of a new Collector":                      {nil, new(false)},
		"not to copy, as the editor has saved":                 {new(false), new(false)},
		"to copy, after the editor has saved the opposite":     {new(false), new(true)},
		"what is the default, after the editor has saved more": {new(false), nil},
	} {
		asked.Configuration, asked.ConfigurationSecret = "", &v1alpha1.ConfigurationSecret{Name: "a", Key: "b"}
		put(t, "gateway", asked)
		if row.before != nil {
			text, tag := opened(t, "")
			text = strings.Replace(text, "key: b\n", fmt.Sprintf("key: b\n      copy: %t\n", *row.before), 1)
			code, says := save(t, "", text, "If-Match", tag)
			g.Expect(code).To(Equal(http.StatusOK), says)
			g.Expect(get(t).Spec.Collector.ConfigurationSecret.Copy).To(Equal(row.before), name)
		}
		asked.ConfigurationSecret.Copy = row.copied
		put(t, "gateway", asked)
		g.Expect(get(t).Spec.Collector.ConfigurationSecret.Copy).To(Equal(row.copied), name)
		g.Expect(admin.Delete(t.Context(), named("gateway"))).To(Succeed())
	}
}

func TestAnApplicationConfirmsWhatAGitOpsToolWouldUndo(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	before := get(t)
	kept := before.DeepCopy()
	kept.Labels = map[string]string{"argocd.argoproj.io/instance": "shop"}
	g.Expect(admin.Patch(t.Context(), kept, client.MergeFrom(before))).To(Succeed())
	changed := valid()
	changed.Version = "0.151.0"
	const path = "/collectors/" + tenant + "/gateway"
	for method, body := range map[string]any{http.MethodPut: changed, http.MethodDelete: nil} {
		code, says := call(t, method, path, body)
		g.Expect(code).To(Equal(http.StatusConflict), method)
		g.Expect(says).To(ContainSubstring("application shop of Argo CD manages this Collector"))
	}
	g.Expect(get(t).Spec.Collector.Version).To(Equal("0.150.0"))
	_, says := call(t, http.MethodGet, "/collectors/"+tenant, nil)
	g.Expect(says).To(ContainSubstring(`"keeper":"application shop of Argo CD"`))
	code, says := call(t, http.MethodPut, path+"?force=true", changed)
	g.Expect(code).To(Equal(http.StatusNoContent), says)
	g.Expect(get(t).Spec.Collector.Version).To(Equal("0.151.0"))
	code, says = call(t, http.MethodDelete, path+"?force=true", nil)
	g.Expect(code).To(Equal(http.StatusNoContent), says)
}

func TestWhatWasNotSeenIsNotDeleted(t *testing.T) {
	g := NewWithT(t)
	put(t, "gateway", valid())
	to, namespace, err := connect(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	reads := 0
	to.WithWatch = interceptor.NewClient(to.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := from.Get(ctx, key, object, options...)
			if reads++; reads == 1 { // Argo CD takes it over meanwhile
				kept := get(t)
				kept.Labels = map[string]string{"argocd.argoproj.io/instance": "shop"}
				g.Expect(admin.Update(ctx, kept)).To(Succeed())
			}
			return err
		},
	})
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodDelete, "http://127.0.0.1/collectors/"+tenant+"/gateway", http.NoBody)
	newPortal(t.Context(), to, []string{namespace}, nil).ServeHTTP(answer, request)
	g.Expect(answer.Code).To(Equal(http.StatusConflict))
	g.Expect(answer.Body.String()).To(ContainSubstring("application shop of Argo CD"))
	g.Expect(get(t).DeletionTimestamp).To(BeNil())
}
