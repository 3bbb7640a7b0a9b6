{{/* The facts of each block: its image, its prefix of environment variables, its ports, the port
     of its health, the variables of its listeners, and the port that callers outside use. */}}
{{- define "enablers.facts" -}}
annotator:
  image: annotator
  prefix: ANNOTATOR
  health: http
  ports: {http: 8080}
  listen: {ANNOTATOR_LISTEN: ":8080"}
  outside: {annotator: http}
modelrepo:
  image: modelrepo
  prefix: MODELREPO
  health: http
  ports: {http: 8081}
  listen: {MODELREPO_LISTEN: ":8081"}
  outside: {modelrepo: http}
flcollector:
  image: flcollector
  prefix: FLCOLLECTOR
  health: http
  ports: {http: 8000, grpc: 8088{{ if .Values.flcollector.fleet }}, fleet: 9092{{ end }}}
  listen: {FLCOLLECTOR_LISTEN: ":8000", FLCOLLECTOR_GRPC_LISTEN: ":8088"{{ if .Values.flcollector.fleet }}, FLCOLLECTOR_FLEET: ":9092"{{ end }}}
  outside: {flcollector: http}
apimanager:
  image: apimanager
  prefix: APIMANAGER
  health: http
  ports: {http: 8999, gateway: 8100, admin: 8101}
  listen: {APIMANAGER_LISTEN: ":8999", APIMANAGER_GATEWAY_LISTEN: ":8100", APIMANAGER_ADMIN_LISTEN: ":8101"}
  outside: {{ ternary "{apimanager: http}" "{apimanager: http, gateway: gateway}" .Values.gateway.enabled }}
gateway:
  image: apimanager
  prefix: APIMANAGER
  health: admin
  ports: {gateway: 8100, admin: 8101}
  listen: {APIMANAGER_GATEWAY_LISTEN: ":8100", APIMANAGER_ADMIN_LISTEN: ":8101"}
  outside: {gateway: gateway}
multilink:
  image: multilink
  prefix: MULTILINK
  health: http
  ports: {http: 3333}
  listen: {MULTILINK_LISTEN: ":3333"}
  outside: {multilink: http}
{{- end }}

{{/* The names of objects get up to 17 characters behind this one, and that of a StatefulSet has 52
     at most: its pods have it as a label, with a hash. */}}
{{- define "enablers.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The templates below are called with a block: a dictionary of root, name, values and facts. */}}

{{- define "enablers.name" -}}
{{ include "enablers.fullname" .root }}-{{ .name }}
{{- end }}

{{- define "enablers.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "enablers.labels" -}}
{{ include "enablers.selector" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: enablers
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "enablers.image" -}}
{{ .values.image | default (printf "%s/%s:%s" .root.Values.image.repository .facts.image (.root.Values.image.tag | default .root.Chart.AppVersion)) }}
{{- end }}

{{- define "enablers.secretName" -}}
{{ .values.existingSecret | default (include "enablers.name" .) }}
{{- end }}

{{/* Not empty if no pod of a block has data of its own: all is in a database that they share, or,
     for a gateway, at the API manager that it follows. */}}
{{- define "enablers.shared" -}}
{{- if or (eq .name "gateway") (get .values "store") (and (eq .name "annotator") .values.db.host) -}}true{{- end -}}
{{- end }}

{{/* http or https: what a block's listeners speak. */}}
{{- define "enablers.scheme" -}}
{{ ternary "https" "http" (ne .values.tlsSecret "") }}
{{- end }}

{{/* The address of a block's health inside the namespace. */}}
{{- define "enablers.healthURL" -}}
{{ include "enablers.scheme" . }}://{{ include "enablers.name" . }}{{ if eq .facts.health "admin" }}-admin{{ end }}:{{ index .facts.ports .facts.health }}
{{- end }}

{{/* The seconds of a duration such as 1m30s. */}}
{{- define "enablers.seconds" -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m)" . -1 -}}
  {{- $number := regexFind "^[0-9.]+" . | float64 -}}
  {{- if hasSuffix "ms" . }}{{ $number = divf $number 1000 }}{{ else if hasSuffix "m" . }}{{ $number = mulf $number 60 }}{{ end -}}
  {{- $sum = addf $sum $number -}}
{{- end -}}
{{- ceil $sum -}}
{{- end }}

{{/* Not empty if the number of a block's pods may follow the load. The streams of Flower
     clients stay with their pod, so the collector's does not. */}}
{{- define "enablers.scaled" -}}
{{- if and .root.Values.autoscaling.enabled (include "enablers.shared" .) (ne .name "flcollector") -}}true{{- end -}}
{{- end }}

{{/* The names of the ports that callers outside of the cluster reach: all but the admin API by a
     node port or a load balancer, what "outside" names by an ingress or a route. */}}
{{- define "enablers.exposed" -}}
{{- $ports := list -}}
{{- if ne .values.service.type "ClusterIP" -}}
  {{- $ports = without (keys .facts.ports | sortAlpha) "admin" -}}
{{- else if or .root.Values.ingress.enabled .root.Values.route.enabled -}}
  {{- $ports = values .facts.outside | sortAlpha -}}
{{- end -}}
{{- toJson $ports -}}
{{- end }}

{{/* The URL of a port of a block as callers know it, of a dictionary of root, name, port, and part,
     which is its name outside. */}}
{{- define "enablers.url" -}}
{{- $v := .root.Values -}}
{{- if $v.ingress.enabled -}}
{{ ternary "https" "http" (ne $v.ingress.tlsSecret "") }}://{{ .part }}.{{ $v.ingress.host }}
{{- else if $v.route.enabled -}}
{{ $v.route.scheme }}://{{ .part }}.{{ $v.route.host }}
{{- else -}}
{{- $block := dict "root" .root "name" .name "values" (index $v .name) "facts" (index (include "enablers.facts" .root | fromYaml) .name) -}}
{{ include "enablers.scheme" $block }}://{{ include "enablers.name" $block }}.{{ .root.Release.Namespace }}.svc:{{ index $block.facts.ports .port }}
{{- end -}}
{{- end }}

{{/* The addresses of portal and gateway as browsers know them, of the root. */}}
{{- define "enablers.portalURL" -}}
{{ .Values.apimanager.portalUrl | default (include "enablers.url" (dict "root" . "name" "apimanager" "port" "http" "part" "apimanager")) }}
{{- end }}

{{- define "enablers.gatewayURL" -}}
{{- $name := ternary "gateway" "apimanager" .Values.gateway.enabled -}}
{{ .Values.apimanager.gatewayUrl | default (include "enablers.url" (dict "root" . "name" $name "port" "gateway" "part" "gateway")) }}
{{- end }}

{{/* Nine tenths of the limit of a block's memory, in bytes: Go collects garbage more often near it, before the pod is killed. */}}
{{- define "enablers.heapLimit" -}}
{{- $limit := get (get (get . "resources" | default dict) "limits" | default dict) "memory" | default "" | toString -}}
{{- $number := regexFind "^[0-9.]+([eE][+-]?[0-9]+)?" $limit -}}
{{- $factors := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $unit := trimPrefix $number $limit -}}
{{- if and $number (hasKey $factors $unit) }}{{ mulf 0.9 (float64 $number) (get $factors $unit) | int64 }}{{ end -}}
{{- end }}

{{/* The environment of a block that is no secret, as the data of its ConfigMap. Later ones win. */}}
{{- define "enablers.config" -}}
{{- $v := .values -}}
{{- $env := dict (printf "%s_DATA" .facts.prefix) "/data"
      (printf "%s_ACCESS_TOKENS" .facts.prefix) "/etc/enablers/access-tokens"
      (printf "%s_LOG_FORMAT" .facts.prefix) .root.Values.logFormat
      (printf "%s_DRAIN_DELAY" .facts.prefix) .root.Values.drainDelay -}}
{{- $env = merge $env .facts.listen -}}
{{- with include "enablers.heapLimit" $v }}{{ $_ := set $env "GOMEMLIMIT" . }}{{ end -}}
{{- if eq .name "annotator" -}}
  {{- $_ := set $env "ANNOTATOR_MQTT_PROTOCOL" $v.mqtt.protocol -}}
  {{- $_ := set $env "ANNOTATOR_MQTT_PORT" (toString $v.mqtt.port) -}}
  {{- $_ := set $env "ANNOTATOR_KAFKA_PORT" (toString $v.kafka.port) -}}
  {{- with $v.mqtt.host }}{{ $_ := set $env "ANNOTATOR_MQTT_HOST" . }}{{ end -}}
  {{- with $v.kafka.host }}{{ $_ := set $env "ANNOTATOR_KAFKA_HOST" . }}{{ end -}}
  {{- if $v.db.host -}}
    {{- $_ := set $env "DB_HOST" $v.db.host -}}
    {{- $_ := set $env "DB_PORT" (toString $v.db.port) -}}
    {{- $_ := set $env "DB_DATABASE" $v.db.database -}}
    {{- with $v.db.user }}{{ $_ := set $env "DB_USER" . }}{{ end -}}
  {{- end -}}
{{- else if eq .name "flcollector" -}}
  {{- $env = merge $env $v.config -}}
  {{- with $v.grpcAccess }}{{ $_ := set $env "FLCOLLECTOR_GRPC_ACCESS" . }}{{ end -}}
{{- else if eq .name "apimanager" -}}
  {{- $_ := set $env "APIMANAGER_PORTAL_URL" (include "enablers.portalURL" .root) -}}
  {{- $_ := set $env "APIMANAGER_GATEWAY_URL" (include "enablers.gatewayURL" .root) -}}
  {{- $_ := set $env "APIMANAGER_PRIVATE_UPSTREAMS" (toString $v.privateUpstreams) -}}
  {{- with $v.idp.url }}{{ $_ := set $env "APIMANAGER_IDP" . }}{{ end -}}
  {{- with $v.idp.realm }}{{ $_ := set $env "APIMANAGER_REALM" . }}{{ end -}}
{{- else if eq .name "gateway" -}}
  {{- $manager := include "enablers.manager" . | fromYaml -}}
  {{- $_ := set $env "APIMANAGER_GATEWAY_ONLY" "true" -}}
  {{- $_ := set $env "APIMANAGER_CONTROL_PLANE" ($v.controlPlane | default
        (printf "%s://%s-admin.%s.svc:%v" $manager.scheme $manager.name .root.Release.Namespace 8101)) -}}
  {{- $_ := set $env "APIMANAGER_PRIVATE_UPSTREAMS" (toString .root.Values.apimanager.privateUpstreams) -}}
  {{- if .root.Values.apimanager.enabled }}{{ $_ := set $env "APIMANAGER_PORTAL_URL" (include "enablers.portalURL" .root) }}{{ end -}}
{{- else if eq .name "multilink" -}}
  {{- $_ := set $env "MULTILINK_ROLE" $v.role -}}
  {{- with $v.address }}{{ $_ := set $env "MULTILINK_ADDRESS" . }}{{ end -}}
  {{- with $v.interfaces }}{{ $_ := set $env "MULTILINK_INTERFACES" . }}{{ end -}}
{{- end -}}
{{- if $v.tlsSecret -}}
  {{- $_ := set $env (printf "%s_TLS_CERT" .facts.prefix) "/etc/enablers-tls/tls.crt" -}}
  {{- $_ := set $env (printf "%s_TLS_KEY" .facts.prefix) "/etc/enablers-tls/tls.key" -}}
{{- end -}}
{{- range $name, $value := merge (dict) $v.env .root.Values.env -}}
  {{- /* A large whole number of YAML would be printed as 1e+09. */}}
  {{- if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ $value = int64 $value }}{{ end -}}
  {{- $_ := set $env $name (toString $value) -}}
{{- end -}}
{{- toYaml $env -}}
{{- end }}

{{/* The API manager that gateways follow. */}}
{{- define "enablers.manager" -}}
{{- $manager := dict "root" .root "name" "apimanager" "values" .root.Values.apimanager -}}
name: {{ include "enablers.name" $manager }}
secret: {{ include "enablers.secretName" $manager }}
scheme: {{ include "enablers.scheme" $manager }}
{{- end }}

{{/* The variables of a block that are in a Secret: for each the key, the name of the Secret if it is
     not the block's, and whether it may be absent. */}}
{{- define "enablers.secretEnv" -}}
{{- $mine := ne .values.existingSecret "" -}}
{{- $env := dict -}}
{{- if get .values "store" }}{{ $_ := set $env (printf "%s_STORE" .facts.prefix) (dict "key" "store" "optional" false) }}{{ end -}}
{{- if get .values "blobs" -}}
  {{- $_ := set $env (printf "%s_BLOBS" .facts.prefix) (dict "key" "blobs" "optional" false) -}}
  {{- if $mine -}}
    {{- $_ := set $env "AWS_ACCESS_KEY_ID" (dict "key" "aws-access-key-id" "optional" true) -}}
    {{- $_ := set $env "AWS_SECRET_ACCESS_KEY" (dict "key" "aws-secret-access-key" "optional" true) -}}
  {{- end -}}
{{- end -}}
{{- if eq .name "annotator" -}}
  {{- $_ := set $env "ANNOTATOR_ENCRYPTION_AUTH_SECRET" (dict "key" "encryption-secret" "optional" false) -}}
  {{- if and .values.db.host (or $mine .values.db.password) -}}
    {{- $_ := set $env "DB_PASSWORD" (dict "key" "db-password" "optional" $mine) -}}
  {{- end -}}
{{- else if eq .name "apimanager" -}}
  {{- $_ := set $env "APIMANAGER_CLIENT_SECRET" (dict "key" "client-secret" "optional" false) -}}
  {{- $_ := set $env "APIMANAGER_DEMO_PASSWORD" (dict "key" "demo-password" "optional" $mine) -}}
  {{- $_ := set $env "APIMANAGER_DEMO_ADMIN_PASSWORD" (dict "key" "demo-admin-password" "optional" $mine) -}}
  {{- $_ := set $env "APIMANAGER_ADMIN_TOKEN" (dict "key" "admin-api-token" "optional" $mine) -}}
{{- else if eq .name "gateway" -}}
  {{- $from := dict "key" "admin-api-token" "name" (include "enablers.manager" . | fromYaml).secret "optional" false -}}
  {{- if .values.controlPlane }}{{ $from = dict "key" "control-plane-token" "optional" false }}{{ end -}}
  {{- $_ := set $env "APIMANAGER_CONTROL_PLANE_TOKEN" $from -}}
{{- end -}}
{{- range $name, $from := .values.secretEnv -}}
  {{- $_ := set $env $name (dict "key" $from.key "name" $from.name "optional" false) -}}
{{- end -}}
{{- toYaml $env -}}
{{- end }}

{{/* The content of a block's Secret. What is generated is looked up in the cluster first, so that
     an upgrade keeps it. "helm template" has no cluster: there each run generates new ones.
     The Secret and the checksum of the pod need the same, so it is made once and remembered. */}}
{{- define "enablers.secrets" -}}
{{- $v := .values -}}
{{- $remembered := get .root.Values "_secrets" | default dict -}}
{{- if not (hasKey $remembered .name) -}}
  {{- $kept := dig "data" (dict) (lookup "v1" "Secret" .root.Release.Namespace (include "enablers.name" .) | default dict) -}}
  {{- $lengths := dict "reader-token" 40 "operator-token" 40 "admin-token" 40 -}}
  {{- $given := dict "store" (get $v "store") "blobs" (get $v "blobs") -}}
  {{- if eq .name "annotator" -}}
    {{- $lengths = merge $lengths (dict "encryption-secret" 32) -}}
    {{- $given = merge $given (dict "encryption-secret" $v.encryptionSecret "db-password" $v.db.password) -}}
  {{- else if eq .name "apimanager" -}}
    {{- $lengths = merge $lengths (dict "client-secret" 40 "demo-password" 24 "demo-admin-password" 24 "admin-api-token" 40) -}}
    {{- $given = merge $given (dict "client-secret" $v.idp.clientSecret) -}}
  {{- else if eq .name "gateway" -}}
    {{- $given = merge $given (dict "control-plane-token" $v.controlPlaneToken) -}}
  {{- end -}}
  {{- $data := dict -}}
  {{- range $key, $length := $lengths }}{{ $_ := set $data $key (get $kept $key | b64dec | default (randAlphaNum (int $length))) }}{{ end -}}
  {{- range $key, $value := $given }}{{ with $value }}{{ $_ := set $data $key . }}{{ end }}{{ end -}}
  {{- $_ := set $data "access-tokens" (printf "reader reader %s\noperator operator %s\nadmin admin %s\n"
        (get $data "reader-token") (get $data "operator-token") (get $data "admin-token")) -}}
  {{- $_ := set $remembered .name $data -}}
  {{- $_ := set .root.Values "_secrets" $remembered -}}
{{- end -}}
{{- get $remembered .name | toJson -}}
{{- end }}
