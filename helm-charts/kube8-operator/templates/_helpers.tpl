{{- /* kube8-operator.image is the reference of the operator's image. */ -}}
{{- define "kube8-operator.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ with .digest }}@{{ . }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* kube8-operator.serviceAccount is the name of the operator's ServiceAccount. */ -}}
{{- define "kube8-operator.serviceAccount" -}}
{{- with .Values.serviceAccount -}}
{{- if .create }}{{ .name | default "kube8-operator-controller-manager" -}}
{{- else }}{{ required "serviceAccount.create is false: set serviceAccount.name to a ServiceAccount that exists in the namespace" .name }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* kube8-operator.place puts an object into the release: its namespace, the accounts that it names, and its labels. */ -}}
{{- define "kube8-operator.place" -}}
{{- $metadata := .object.metadata -}}
{{- $labels := dict "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $_ := set $metadata "labels" (mergeOverwrite (dict) (get $metadata "labels" | default dict) $labels) -}}
{{- if hasKey $metadata "namespace" -}}
{{- $_ := set $metadata "namespace" (.namespace | default .root.Release.Namespace) -}}
{{- end -}}
{{- range get .object "subjects" | default list -}}
{{- $_ := set . "namespace" $.root.Release.Namespace -}}
{{- if eq .name "kube8-operator-controller-manager" }}{{ $_ := set . "name" (include "kube8-operator.serviceAccount" $.root) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* kube8-operator.deployment changes the Deployment as the values say. */ -}}
{{- define "kube8-operator.deployment" -}}
{{- $values := .root.Values -}}
{{- $template := .object.spec.template -}}
{{- $pod := $template.spec -}}
{{- $manager := first $pod.containers -}}
{{- $_ := set .object.spec "replicas" (int $values.replicaCount) -}}
{{- $_ := set $pod "serviceAccountName" (include "kube8-operator.serviceAccount" .root) -}}
{{- $_ := set $template.metadata "labels" (mergeOverwrite (dict) $values.podLabels $template.metadata.labels) -}}
{{- $_ := set $template.metadata "annotations" (mergeOverwrite (dict) $template.metadata.annotations $values.podAnnotations) -}}
{{- $_ := set $manager "image" (include "kube8-operator.image" .root) -}}
{{- with $values.image.pullPolicy }}{{ $_ := set $manager "imagePullPolicy" . }}{{ end -}}
{{- with $values.resources }}{{ $_ := set $manager "resources" . }}{{ end -}}
{{- $_ := set $pod "nodeSelector" (mergeOverwrite (dict) $pod.nodeSelector $values.nodeSelector) -}}
{{- range $field := list "imagePullSecrets" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" -}}
{{- with get $values $field }}{{ $_ := set $pod $field . }}{{ end -}}
{{- end -}}
{{- $args := $manager.args -}}
{{- if $values.watchNamespaces -}}
{{- $_ := set (first $manager.env) "value" (join "," $values.watchNamespaces) -}}
{{- $_ := unset (first $manager.env) "valueFrom" -}}
{{- $args = without $args "--metrics-bind-address=:8443" "--metrics-secure" -}}
{{- $args = concat $args (list "--metrics-bind-address=127.0.0.1:8080" "--metrics-secure=false") -}}
{{- $_ := set $manager "ports" (rest $manager.ports) -}}
{{- end -}}
{{- with $values.collectorRegistry }}{{ $args = append $args (printf "--collector-registry=%s" .) }}{{ end -}}
{{- with $values.rollout.budget }}{{ $args = append $args (printf "--rollout-budget=%v" .) }}{{ end -}}
{{- with $values.rollout.deadline }}{{ $args = append $args (printf "--rollout-deadline=%s" .) }}{{ end -}}
{{- with $values.rollout.soak }}{{ $args = append $args (printf "--rollout-soak=%s" .) }}{{ end -}}
{{- if $values.rollout.canary }}{{ $args = append $args "--rollout-canary" }}{{ end -}}
{{- if $values.rollout.flow }}{{ $args = append $args "--rollout-flow" }}{{ end -}}
{{- if $values.metrics.serviceMonitor.enabled -}}
{{- $args = append $args "--metrics-cert-dir=/metrics-certificate" -}}
{{- $mount := dict "name" "metrics-certificate" "mountPath" "/metrics-certificate" "readOnly" true -}}
{{- $_ := set $manager "volumeMounts" (append $manager.volumeMounts $mount) -}}
{{- $secret := dict "secretName" "kube8-operator-metrics-certificate" -}}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "metrics-certificate" "secret" $secret)) -}}
{{- end -}}
{{- $_ := set $manager "args" (concat $args $values.extraArgs) -}}
{{- end -}}
