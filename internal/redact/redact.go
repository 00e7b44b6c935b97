// Package redact takes out of Kubernetes objects what may be confidential, for support bundles and screens. It keeps what it knows to be
// harmless and hides every other text: a field that a later version adds is hidden until it is added here.
package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// harmless are the fields whose text is kept, wherever in an object they are. Numbers and booleans are always kept.
var harmless = fields(`
	apiVersion kind name generateName namespace uid resourceVersion creationTimestamp deletionTimestamp finalizers controller
	id reference instance cluster mode format fileName version tag digest repository registry imagePullPolicy pullPolicy
	image imageID containerID container nodeName node serviceAccountName serviceAccount priorityClassName schedulerName
	type status reason phase qosClass restartPolicy dnsPolicy terminationMessagePolicy effect operator protocol appProtocol
	key fieldPath secretName claimName configMapName storageClassName medium mountPath subPath readOnly
	configHash startTime completionTime startedAt finishedAt lastTransitionTime lastProbeTime lastUpdateTime lastHeartbeatTime
	firstTimestamp lastTimestamp eventTime observedGeneration cpu memory storage ephemeral-storage topologyKey whenUnsatisfiable
	port targetPort containerPort nodePort service maxSurge maxUnavailable minAvailable policy interval scrapeTimeout
	podManagementPolicy volumeMode accessModes clusterIP ipFamilies ipFamilyPolicy internalTrafficPolicy sessionAffinity
	reportingComponent component signal resource averageUtilization seccompProfile add drop apiGroup manager operation time
	driver holderIdentity gitVersion goVersion platform bases position`)

// labels are maps that keep all their values: labels, which select objects, and quantities.
var labels = fields("labels matchLabels nodeSelector selector podLabels limits requests hard used capacity")

// annotations are the annotations whose value is kept.
var annotations = fields(`kube8.dev/config-sha256 kube8.dev/files-sha256 kube8.dev/bases-sha256 kube8.dev/base-files kube8.dev/references
	kube8.dev/paused kube8.dev/checked kube8.dev/configuration kube8.dev/configuration-file
	kubectl.kubernetes.io/restartedAt deployment.kubernetes.io/revision pod-template-hash helm.sh/resource-policy`)

// speakers are the components whose messages in events have no output of a container.
var speakers = fields(`kube8-operator default-scheduler deployment-controller replicaset-controller statefulset-controller
	daemonset-controller job-controller horizontal-pod-autoscaler controllermanager persistentvolume-controller`)

// contents are maps whose keys are chosen by users, so that a key says nothing about its value.
var contents = fields("data stringData binaryData files volumeAttributes options parameters")

// withoutOutput are the reasons of the kubelet's events whose messages have no output of a container. Probes and hooks have some.
var withoutOutput = fields(`Pulling Pulled Killing Created Started BackOff FailedMount FailedAttachVolume NodeNotReady Evicted Preempting
	FailedCreatePodSandBox`)

func fields(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// Object returns a copy of an object, or of a part of one, with each text hidden that is not known to be harmless. Of
// managedFields nothing is kept.
func Object(object map[string]any) map[string]any { return Since(nil, object) }

// Since is Object for people who compare an object with what it was: a text that is hidden in both, and is another one, is
// "(changed)". before is nil if there was none.
func Since(before, object map[string]any) map[string]any {
	kind, _ := object["kind"].(string)
	hidden, _ := walk(before, object, nil).(map[string]any)
	if kind == "Event" && isHarmless(object) {
		hidden["message"] = object["message"]
	}
	if kind == "Collector" { // the operator's own sentences, which never have a part of a configuration
		keepMessages(hidden, object)
	}
	return hidden
}

// isHarmless tells whether the message of an event has no output of a container.
func isHarmless(event map[string]any) bool {
	source, _ := event["source"].(map[string]any)
	message, _ := event["message"].(string)
	reason, _ := event["reason"].(string)
	for _, component := range []any{event["reportingComponent"], source["component"]} {
		if name, ok := component.(string); ok && name != "" {
			return speakers[name] || name == "kubelet" && (withoutOutput[reason] || strings.HasPrefix(message, "Failed to pull image "))
		}
	}
	return false
}

func keepMessages(hidden, object map[string]any) {
	of := func(object map[string]any) []any {
		status, _ := object["status"].(map[string]any)
		conditions, _ := status["conditions"].([]any)
		return conditions
	}
	from := of(object)
	for i, to := range of(hidden) {
		to, isMap := to.(map[string]any)
		if condition, ok := from[i].(map[string]any); ok && isMap && condition["message"] != nil {
			to["message"] = condition["message"]
		}
	}
}

// walk returns value with texts hidden. before is what it was, and path has the names of the fields that lead to it.
func walk(before, value any, path []string) any {
	switch value := value.(type) {
	case map[string]any:
		kept, was := map[string]any{}, asMap(before)
		for name, field := range value {
			if name == "managedFields" {
				continue
			}
			kept[name] = walk(was[name], field, append(slices.Clone(path), name))
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		was, _ := before.([]any)
		for i := range value {
			kept[i] = walk(counterpart(was, i, value[i]), value[i], path)
		}
		return kept
	case string:
		if Keeps(path) {
			return value
		}
		if was, isText := before.(string); isText && was != value {
			return "(changed)"
		}
		return "(hidden)" // without its length, which would say something of a password
	}
	return value // a number, a boolean or nothing
}

// counterpart returns the item of a list that item i of another one was: of its name if it has one, and else that at the same place.
// Names are kept, so that people see when an item has moved.
func counterpart(list []any, i int, item any) any {
	name, isNamed := asMap(item)["name"].(string)
	isSame := func(other any) bool { return !isNamed || asMap(other)["name"] == name }
	if i < len(list) && isSame(list[i]) {
		return list[i]
	}
	if at := slices.IndexFunc(list, isSame); isNamed && at >= 0 {
		return list[at]
	}
	return nil
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// Keeps tells whether Object keeps the text of a field, by the names of the fields that lead to it.
func Keeps(path []string) bool {
	if len(path) == 0 {
		return false
	}
	name, parent := path[len(path)-1], ""
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	switch {
	case parent == "metadata" && len(path) > 2 && path[len(path)-3] == "triggers": // of KEDA: its keys are a scaler's
		return false
	case strings.HasSuffix(strings.ToLower(parent), "annotations"):
		return annotations[name]
	case labels[parent]:
		return true
	case contents[parent]:
		return false
	}
	return harmless[name]
}

// JSON is Object for any object that can be written as JSON.
func JSON(object any) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write an object: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("read an object: %w", err)
	}
	return Object(fields), nil
}
