package kubectl

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// mayRun tells whether the account may run a command of kubectl, as far as the API server answers that.
func (s *session) mayRun(ctx context.Context, command string) bool {
	for _, asked := range s.requests(command) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}
		if err := s.client.Create(ctx, review); err == nil && !review.Status.Allowed {
			return false
		}
	}
	return true
}

// takesValue are kubectl's flags that have their value in the next word.
var takesValue = []string{"-l", "-o", "-L", "-c"}

// requests returns what a command asks the API server for: the kinds of the command `get`, `describe` and `logs`. The plugin's own commands
// say what they leave out.
func (s *session) requests(command string) (asked []authorizationv1.ResourceAttributes) {
	command, _, _ = strings.Cut(command, "|")
	namespace, words := "", []string{}
	all := strings.Fields(command)
	for at := 0; at < len(all); at++ {
		switch word := all[at]; {
		case word == "-n" && at+1 < len(all):
			at++
			namespace = all[at]
		case slices.Contains(takesValue, word):
			at++
		case !strings.HasPrefix(word, "-"):
			words = append(words, word)
		}
	}
	if len(words) < 3 || words[0] != "kubectl" {
		return nil
	}
	verb, of := words[1], words[2:]
	if verb == "collector" && of[0] == "rollout" {
		return []authorizationv1.ResourceAttributes{{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "collectors"}}
	}
	if verb == "logs" || verb == "collector" && of[0] == "logs" {
		return []authorizationv1.ResourceAttributes{{Namespace: namespace, Verb: "get", Resource: "pods", Subresource: "log"}}
	}
	if verb != "get" && verb != "describe" {
		return nil
	}
	for kind := range strings.SplitSeq(of[0], ",") {
		kind, name, isNamed := strings.Cut(kind, "/")
		one := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: kind, Name: name}
		if len(of) > 1 {
			one.Name, isNamed = of[1], true
		}
		if isNamed {
			one.Verb = "get"
		}
		if found, err := s.resource(kind); err == nil {
			one.Group, one.Resource = found.Group, found.Resource
		}
		asked = append(asked, one)
	}
	return asked
}

// resource returns the resource that people call so, such as hpa.
func (s *session) resource(name string) (schema.GroupVersionResource, error) {
	mapper, err := s.mapper()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapper.ResourceFor(schema.GroupVersionResource{Resource: name}) //nolint:wrapcheck // the caller goes by the name then
}
