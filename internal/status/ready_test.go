package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func TestReadinessOfWorkload(t *testing.T) {
	tests := map[string]struct {
		workload string
		troubles []string
		want     readiness
	}{
		"a new Deployment that nobody has worked on": {
			workload: `{kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}}`,
			want:     readiness{"False", "Progressing", "the workload's controller has not started the change yet"},
		},
		"a Deployment whose new pods are on their way": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2},
				status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, availableReplicas: 2}}`,
			want: readiness{"False", "Progressing", "1/2 updated"},
		},
		"a Deployment whose new pod does not come beside the old ones": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1},
				status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1}}`,
			want: readiness{"False", "Progressing", "1/1 updated, 1 more to end"},
		},
		"a Deployment that lost a pod": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2},
				status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}}`,
			want: readiness{"False", "PodsNotReady", "1/2 available"},
		},
		"a Deployment whose pod is on its way": {
			workload: `{kind: Deployment, metadata: {generation: 1}, spec: {replicas: 1},
				status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1,
					conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}}`,
			want: readiness{"False", "Progressing", "0/1 available"},
		},
		"a Deployment whose new pod is in trouble, beside the old one": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1},
				status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1}}`,
			troubles: []string{"pod a: CrashLoopBackOff, exit code 1", "pod b: ErrImagePull"},
			want:     readiness{"False", "PodsNotReady", "1/1 updated, 1 more to end; pod a: CrashLoopBackOff, exit code 1; pod b: ErrImagePull"},
		},
		"a Deployment whose ReplicaSet is refused, beside the pods of the one before": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1},
				status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1,
					conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError, message: "exceeded quota"}]}}`,
			want: readiness{"False", "PodsNotReady", "the workload's controller cannot start the change; ReplicaSetCreateError: exceeded quota"},
		},
		"a Deployment whose ReplicaSet was refused, and is there": {
			workload: `{kind: Deployment, metadata: {generation: 3}, spec: {replicas: 1},
				status: {observedGeneration: 3, replicas: 1, updatedReplicas: 1, availableReplicas: 1,
					conditions: [{type: Progressing, status: "False", reason: ReplicaSetCreateError, message: "exceeded quota"}]}}`,
			want: readiness{"True", "Available", "1/1 available"},
		},
		"a Deployment that serves": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2},
				status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}`,
			want: readiness{"True", "Available", "2/2 available"},
		},
		"a Deployment that is scaled to nothing": {
			workload: `{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 0}, status: {observedGeneration: 2}}`,
			want:     readiness{"True", "Available", "0/0 available; no pods are asked for"},
		},
		"a DaemonSet on some of its nodes": {
			workload: `{kind: DaemonSet, metadata: {generation: 1},
				status: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}}`,
			want: readiness{"False", "PodsNotReady", "2/3 available"},
		},
		"a DaemonSet that no node matches": {
			workload: `{kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1}}`,
			want:     readiness{"True", "Available", "0/0 available; no node takes its pods"},
		},
		"a DaemonSet whose pods are replaced as they are deleted": {
			workload: `{kind: DaemonSet, metadata: {generation: 2}, spec: {updateStrategy: {type: OnDelete}},
				status: {observedGeneration: 2, desiredNumberScheduled: 3, numberAvailable: 3}}`,
			want: readiness{"True", "Available", "3/3 available"},
		},
		"a StatefulSet with a partition, whose lower pods stay old": {
			workload: `{kind: StatefulSet, metadata: {generation: 2},
				spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}},
				status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 2}}`,
			want: readiness{"True", "Available", "2/2 available"},
		},
		"a StatefulSet of one, by default": {
			workload: `{kind: StatefulSet, metadata: {generation: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`,
			want:     readiness{"False", "PodsNotReady", "0/1 available"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(test.workload), &kind); err != nil {
				t.Fatal(err)
			}
			object := map[string]client.Object{
				"Deployment": &appsv1.Deployment{}, "DaemonSet": &appsv1.DaemonSet{}, "StatefulSet": &appsv1.StatefulSet{},
			}[kind.Kind]
			if err := yaml.Unmarshal([]byte(test.workload), object); err != nil {
				t.Fatal(err)
			}
			found := workloadOf(object)
			if got := found.readiness(append(found.troubles, test.troubles...)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
