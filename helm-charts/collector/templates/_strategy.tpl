{{/*
Has .Release.alone say why pods cannot be two: {"ports": …, "folder": …, "claim": …, "disk": …}. A reason that is not there is empty.
ports and folder are about two pods on one node, claim is about two pods anywhere, and disk about two nodes.
*/}}
{{- define "collector.alone" -}}
{{- $v := .Values }}
{{- $ports := ternary "host network" "" $v.hostNetwork }}
{{- include "collector.ports" . }}
{{- range .Release.ports.inPod }}{{ if .hostPort }}{{ $ports = "host port" }}{{ end }}{{ end }}
{{- $folders := dict }}
{{- range $v.extraVolumes }}{{ if .hostPath }}{{ $_ := set $folders .name true }}{{ end }}{{ end }}
{{- $folder := "" }}
{{- $mounts := $v.extraVolumeMounts }}
{{- range concat ($v.initContainers | default list) ($v.extraContainers | default list) }}
{{- $mounts = concat $mounts (.volumeMounts | default list) }}
{{- range .ports }}{{ if .hostPort }}{{ $ports = "host port" }}{{ end }}{{ end }}
{{- end }}
{{- range $mounts }}{{ if and (hasKey $folders .name) (not .readOnly) }}{{ $folder = "host path" }}{{ end }}{{ end }}
{{- $isPinned := and (hasKey $v.nodeSelector "kubernetes.io/hostname") (not (hasKey ($v.affinity | default dict) "podAntiAffinity")) }}
{{- $claim := "" }}
{{- $disk := "" }}
{{- $attached := list "awsElasticBlockStore" "azureDisk" "cinder" "fc" "gcePersistentDisk" "iscsi" "portworxVolume" "rbd" "vsphereVolume" }}
{{- range $volume := $v.extraVolumes }}{{ range $kind, $source := $volume }}
{{- if and (has $kind $attached) (not $isPinned) (not $source.readOnly) }}{{ $disk = $volume.name }}{{ end }}
{{- end }}{{ end }}
{{- range $v.volumeClaims }}
{{- $modes := .spec.accessModes | default list }}
{{- if has "ReadWriteOncePod" $modes }}{{ $claim = .metadata.name }}{{ end }}
{{- $isShared := or (has "ReadWriteMany" $modes) (has "ReadOnlyMany" $modes) }}
{{- if and (has "ReadWriteOnce" $modes) (not $isShared) (not $isPinned) }}{{ $disk = .metadata.name }}{{ end }}
{{- end }}
{{- $_ := set .Release "alone" (dict "ports" $ports "folder" $folder "claim" $claim "disk" $disk) }}
{{- end }}

{{/* The maxSurge and maxUnavailable of a rolling update. given is what the user sets, and surge the default of maxSurge. */}}
{{- define "collector.rollingUpdate" -}}
{{- $surge := ternary .given.maxSurge .surge (hasKey .given "maxSurge") }}
{{- $unavailable := ternary 1 0 (has (toString $surge) (list "0" "0%")) -}}
maxSurge: {{ $surge | toJson }}
maxUnavailable: {{ ternary .given.maxUnavailable $unavailable (hasKey .given "maxUnavailable") | toJson }}
{{- end }}
