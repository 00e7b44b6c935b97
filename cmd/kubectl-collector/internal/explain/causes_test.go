package explain

import (
	"strings"
	"testing"
)

// told are messages as Kubernetes and its runtimes write them, each with a part of what happened.
var told = map[string]string{
	`pod a: Unschedulable: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found`: "has no volume yet",
	`0/1 updated; pod a: Error, exit code 2`: "ends by itself",
	`0/1 updated; pod a: ErrImagePull: image a: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`: "refuses these credentials",
	`Failed: Failed to pull image "a": pull access denied: server message: insufficient_scope: authorization failed`:                                                                  "refuses these credentials",
	`0/1 updated; pod a: ErrImagePull: image a: no match for platform in manifest: not found`:                                                                                         "no variant for the node's architecture",
	`0/1 updated; pod a: ErrImagePull: image a: reading manifest 1 in example.com/a: manifest unknown`:                                                                                "has no such image",
	`0/1 updated; pod a: ErrImagePull: image example.com/a@sha256:401403: i/o timeout`:                                                                                                "cannot reach the registry",
	`FailedCreate: Error creating: insufficient quota to match these scopes: [{PriorityClass In [system-node-critical]}]`:                                                             "may not have more",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't match PersistentVolume's node affinity.`:                                                                         "where the pod may not run",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind.`:                                                                      "has no volume yet",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod affinity rules.`:                                                                                       "that this one must be beside",
	`Unhealthy: Readiness probe failed: OCI runtime exec failed: exec: "wget": executable file not found in $PATH`:                                                                    "does not answer its probe",
	`FailedMount: MountVolume.SetUp failed for volume "nfs": mount.nfs: mounting failed: No such file or directory`:                                                                   "cannot be mounted",
	`FailedMount: MountVolume.SetUp failed for volume "csi": permission denied`:                                                                                                       "cannot be mounted",
	`0/1 updated; pod a: ErrImagePull: image registry.example.com/a:1: not found`:                                                                                                     "has no such image",
	`0/1 updated; pod a: ImagePullBackOff: image registry.example.com/a:1: 401 Unauthorized`:                                                                                          "does not know these credentials",
	`0/1 updated; pod a: ErrImagePull: image a: pull access denied, repository does not exist`:                                                                                        "refuses these credentials",
	`0/1 updated; pod a: ErrImagePull: image a: unexpected status from HEAD request to https://a/v2: 403 Forbidden`:                                                                   "refuses these credentials",
	`0/1 updated; pod a: ErrImagePull: image a: no such host`:                                                                                                                         "cannot find the registry",
	`0/1 updated; pod a: ErrImagePull: image a: i/o timeout`:                                                                                                                          "cannot reach the registry",
	`0/1 updated; pod a: ErrImagePull: image a: connection refused`:                                                                                                                   "cannot reach the registry",
	`0/1 updated; pod a: ImagePullBackOff: image a`:                                                                                                                                   "cannot pull the image",
	`0/1 updated; pod a: InvalidImageName: image A:b:c: invalid reference format`:                                                                                                     "cannot be parsed",
	`0/1 updated; pod a: ErrImageNeverPull: image a`:                                                                                                                                  "does not have the image",
	`0/1 updated; pod a: CreateContainerConfigError: secret "backend" not found`:                                                                                                      "takes its value from a Secret",
	`0/1 updated; pod a: CreateContainerConfigError: couldn't find key PASSWORD in Secret tenant/backend`:                                                                             "takes a key",
	`0/1 updated; pod a: CreateContainerConfigError: container has runAsNonRoot and image will run as root (pod: "a")`:                                                                "and the image does",
	`0/1 updated; pod a: CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user (otel), cannot verify`:                                                 "by number",
	`0/1 updated; pod a: CrashLoopBackOff, exit code 128: failed to create task: exec: "collector": executable file not found in $PATH`:                                               "does not have the program",
	`0/1 updated; pod a: RunContainerError: exec: "/otelcol": stat /otelcol: no such file or directory`:                                                                               "does not have the program",
	`0/1 updated; pod a: RunContainerError: exec: "/otelcol": permission denied`:                                                                                                      "may not run the program",
	`0/1 updated; pod a: CrashLoopBackOff, exit code 137 (OOMKilled)`:                                                                                                                 "took more memory",
	`0/1 updated; pod a: CrashLoopBackOff, exit code 137`:                                                                                                                             "was killed",
	`0/1 updated; pod a: CrashLoopBackOff, exit code 1`:                                                                                                                               "ends by itself",
	`FailedMount: MountVolume.SetUp failed for volume "tls" : secret "tls" not found`:                                                                                                 "from a Secret or ConfigMap that is not there",
	`FailedMount: MountVolume.SetUp failed for volume "tls" : references non-existent secret key: ca.crt`:                                                                             "cannot be mounted",
	`FailedAttachVolume: Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node`:                                                                    "cannot be attached",
	`Unhealthy: Readiness probe failed: Get "http://10.0.0.1:13133/": dial tcp 10.0.0.1:13133: connect: connection refused`:                                                           "does not answer its probe",
	`pod a: Unschedulable: 0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: not helpful`:                                                                  "from a claim that is not there",
	`pod a: Unschedulable: 0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.`:                                                                                "has no volume yet",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) had volume node affinity conflict.`:                                                                                     "where the pod may not run",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports.`:                                                                    "has the same port",
	`pod a: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.`:                                                                                                              "No node has as much",
	`pod a: Unschedulable: 0/3 nodes are available: 3 Too many pods.`:                                                                                                                 "as many pods as it may have",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints.`:                                                                          "make the spread uneven",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.`:                                                                                  "must not be beside",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.`:                                                                             "No node has the labels",
	`pod a: Unschedulable: 0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: gpu}.`:                                                                                "does not tolerate",
	`0/0 available; no node takes its pods`:                                                                                                                                           "no node for this DaemonSet",
	`FailedCreate: Error creating: pods "a-" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=3, limited: pods=3`:                                                    "may not have more",
	`FailedCreate: Error creating: pods "a-" is forbidden: failed quota: cpu: must specify limits.cpu for: collector`:                                                                 "demands requests or limits",
	`FailedCreate: create Pod a-0 in StatefulSet a failed error: pods "a-0" is forbidden: maximum memory usage per Container is 64Mi, but limit is 256Mi`:                             "LimitRange",
	`FailedCreate: Error creating: pods "a-" is forbidden: error looking up service account t/x: serviceaccount "x" not found`:                                                        "ServiceAccount is not there",
	`FailedCreate: Error creating: pods "a-" is forbidden: no PriorityClass with name high was found`:                                                                                 "no such PriorityClass",
	`FailedCreate: Error creating: pods "a-" is forbidden: violates PodSecurity "restricted:latest": privileged`:                                                                      "Pod Security level",
	`Deployment "a": ValidatingAdmissionPolicy 'no-latest' with binding 'no-latest' denied request: no latest`:                                                                        "A policy of the platform",
	`admission webhook "check.example.com" denied the request: no`:                                                                                                                    "A webhook of the platform",
	`Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: no endpoints`:                                                                       "cannot ask a webhook",
	`secrets "a" is forbidden: unable to create new content in namespace t because it is being terminated`:                                                                            "namespace is being deleted",
	`PersistentVolumeClaim "a" is being deleted; the finalizer example.com/held keeps it`:                                                                                             "a finalizer keeps it",
	`1/1 updated, 1 more to end; DeploymentPaused`:                                                                                                                                    "has paused",
	`0/1 available; ProgressDeadlineExceeded`:                                                                                                                                         "in ten minutes",
	`spec.presets.kubeletMetrics: ServiceAccount t/a may not get nodes/stats; bind the role of config/collector-roles: kubectl create`:                                                "A preset reads",
	`the Service has no address of a load balancer`:                                                                                                                                   "not given the Service an address",
}

func TestEachCauseIsFoundInWhatKubernetesSays(t *testing.T) {
	known, err := causes()
	if err != nil {
		t.Fatal(err)
	}
	if len(known) < 25 {
		t.Fatalf("docs/causes.md has %d causes", len(known))
	}
	reached := map[string]bool{}
	for message, part := range told {
		found, err := Causes("tenant", "a", message)
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Happened, part) {
			t.Errorf("%s\nhas the causes %+v (%v), want one with %q", message, found, err, part)
			continue
		}
		reached[found[0].Happened] = true
		if strings.Contains(found[0].Command, "NAME") || found[0].Action == "" {
			t.Errorf("%s: %+v", message, found[0])
		}
	}
	for _, cause := range known {
		if !reached[cause.Happened] {
			t.Errorf("no message has the cause %q", cause.Happened)
		}
	}
}

func TestAMessageHasTheCausesOfItsParts(t *testing.T) {
	found, err := Causes("tenant", "a", "0/2 updated; pod a: CrashLoopBackOff, exit code 1; pod b: CrashLoopBackOff, exit code 2; pod c: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu", "2/2 available")
	if err != nil || len(found) != 2 {
		t.Errorf("got %+v, %v", found, err)
	}
}
