#!/usr/bin/env bash
# Makes the archives of this folder: runs the commands of an older commit, fills
# them over REST and packs their data folders.
#
#	bash make.sh SOURCE TARGET
#
# SOURCE is a working tree of that commit, TARGET the folder for the archives. It
# needs Go, curl, jq, mosquitto, tar and root, and the ports 18830 to 18849 of loopback.
# Every secret in here is made up for the test.
#
# MORE names a script with functions more_COMMAND, which have a later commit store what this one had not. COMMANDS are
# those to run, all without it.

set -euo pipefail

source=$(realpath "$1")
target=$(realpath "$2")
more=$(realpath "${MORE:-/dev/null}")
work=$(mktemp -d)
pids=()

end() {
	local pid
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap end EXIT

mkdir "$work/bin"
(cd "$source" && go build -o "$work/bin/" ./cmd/annotator ./cmd/modelrepo ./cmd/flcollector ./cmd/apimanager ./cmd/multilink \
	./cmd/enablers ./examples/flclient)
cd "$work"

# run NAME PROGRAM FLAG... starts a program of that commit with its data in NAME.
run() {
	local name=$1 program=$2
	shift 2
	"bin/$program" -data "$work/$name" "$@" >"$work/$name.log" 2>&1 &
	pids+=($!)
}

# up URL waits until a service answers.
up() { curl -fsS -o /dev/null --retry 100 --retry-delay 1 --retry-all-errors "$1"; }

# stop ends the program that was started last.
stop() {
	local pid=${pids[-1]}
	unset 'pids[-1]'
	kill -TERM "$pid"
	wait "$pid"
}

# pack NAME makes the archive of a data folder.
pack() {
	tar --sort=name --owner=0 --group=0 --numeric-owner -C "$work/$1" -cf - . | gzip -9 -n >"$target/$1.tar.gz"
}

# record NAME URL PATH... writes what a service answers to NAME.json: for each path the status, and the body, or its
# SHA-256 where it is no JSON.
record() {
	local name=$1 url=$2 path status type
	shift 2
	for path; do
		read -r status type < <(curl -sS ${auth:+-H "Authorization: Bearer $auth"} -o body -w '%{http_code} %{content_type}\n' "$url$path")
		if [[ $type == application/json* ]]; then
			jq --arg path "$path" --argjson status "$status" '{($path): {status: $status, body: .}}' body
		else
			jq -n --arg path "$path" --argjson status "$status" --arg hash "$(sha256sum <body | cut -d ' ' -f 1)" \
				'{($path): {status: $status, sha256: $hash}}'
		fi
	done | jq -s add >"$target/$name.json"
}

# more COMMAND stores what a later commit has.
more() { if declare -F "more_$1" >/dev/null; then "more_$1"; fi; }
source "$more"

# call METHOD URL [JSON] sends a request that has to succeed.
call() {
	curl -fsS -X "$1" ${auth:+-H "Authorization: Bearer $auth"} ${3:+-H 'Content-Type: application/json' -d "$3"} "$2"
	echo
}

annotator() {
	local api=http://127.0.0.1:18831 weather settings
	mosquitto -p 18830 >mosquitto.log 2>&1 &
	pids+=($!)
	run annotator annotator -listen 127.0.0.1:18831 -mqtt-port 18830
	up $api/readyz
	weather=$(cat "$source/examples/weather/channel.json")
	call POST $api/channels "$weather"
	settings='{"settings": {"channelId": "signed-in", "parallelism": 3, "bufferSize": 7, "errorFormat": "JSON"},
		"metadata": {"name": "Signed in"}}'
	for topic in input output error monitorInput monitorOutput; do
		settings=$(jq --arg topic "$topic" '.settings[$topic + "TopicSettings"] = {topic: ("signed-in/" + $topic), brokerType: "MQTT",
			mqttSettings: {protocol: "tcp", host: "127.0.0.1", port: 18830, clientId: ("signed-in-" + $topic),
				user: "made-up-user", password: "made-up-password"}}' <<<"$settings")
	done
	call POST $api/channels "$(jq --argjson s "$settings" '$s * {metadata: {mapping: .metadata.mapping}}' <<<"$weather")"
	call POST $api/channels "$(jq '.settings.channelId = "stopped" | .settings.inputTopicSettings.topic = "stopped/in"
		| .settings.outputTopicSettings.topic = "stopped/out" | .settings.errorTopicSettings.topic = "stopped/errors"' <<<"$weather")"
	call PATCH $api/channels/stopped '{"isStopped": true}'
	call PUT $api/channels/stopped/mapping "$(jq '.metadata.mapping | .outputFormat = "NTRIPLES"' <<<"$weather")"
	call POST $api/channels '{"settings": {"channelId": "kafka", "inputTopicSettings": {"topic": "in", "brokerType": "KAFKA",
		"kafkaSettings": {"host": "127.0.0.1", "port": 18832, "groupId": "made-up-group", "protocol": "SASL_PLAINTEXT",
			"saslMechanism": "SCRAM-SHA-512", "user": "made-up-user", "password": "made-up-password", "offsetReset": "earliest"}},
		"outputTopicSettings": {"topic": "out", "brokerType": "KAFKA", "kafkaSettings": {"host": "127.0.0.1", "port": 18832}},
		"exactlyOnce": true}, "status": {"isStopped": true},
		"metadata": {"name": "Kafka", "mapping": '"$(jq .metadata.mapping <<<"$weather")"'}}'
	call POST $api/annotations "$(jq '.metadata.mapping' <<<"$weather")"
	record annotator $api '/channels?metadata=true&settings=true&rml=true' /channels/stopped/mapping '/channels/kafka?all=true' \
		'/annotations?all=true'
	stop
	stop
	pack annotator
}

modelrepo() {
	local api=http://127.0.0.1:18833
	run modelrepo modelrepo -listen 127.0.0.1:18833 -webhooks-private
	up $api/readyz
	call POST $api/w3c '{"metadata": {"owner": "W3C"}}'
	call POST $api/acme
	call POST $api/w3c/sosa '{"latestVersion": "2.0", "aliases": {"stable": "1.0"}, "metadata": {"kind": "ontology"}}'
	call POST $api/w3c/empty '{}'
	call POST $api/acme/pump '{}'
	call POST $api/w3c/sosa/1.0 '{"defaultFormat": "text/turtle", "metadata": {"year": "2017"}}'
	call POST $api/w3c/sosa/2.0 '{}'
	call POST $api/acme/pump/0.1 '{}'
	seq 1 20000 >large
	curl -fsS -F "content=@$source/examples/weather/json.ttl;type=text/turtle" "$api/w3c/sosa/1.0/content?format=text/turtle"
	curl -fsS -F "content=@$source/docs/mapping.md;type=text/markdown" "$api/w3c/sosa/1.0/content?format=text/markdown"
	curl -fsS -F "content=@$source/examples/weather/json.ttl;type=text/turtle" "$api/w3c/sosa/2.0/content?format=text/turtle"
	curl -fsS -F "content=@large;type=text/plain" "$api/acme/pump/0.1/content?format=numbers"
	curl -fsS -F "content=@$source/docs/mapping.md;filename=index.md" "$api/w3c/sosa/1.0/doc_gen?plugin=markdown"
	call PATCH $api/w3c/sosa/1.0 '{"immutable": true}'
	call POST $api/h '{"action": "content_upload", "callback": "http://127.0.0.1:18834/hook", "context": {"namespace": "acme"},
		"secret": "made-up-secret-of-a-webhook"}'
	# An upload that is half done.
	curl -fsS -D tus -o /dev/null -X POST -H 'Tus-Resumable: 1.0.0' -H 'Upload-Length: 10' \
		"$api/acme/pump/0.1/content?format=resumed"
	curl -fsS -X PATCH -H 'Tus-Resumable: 1.0.0' -H 'Upload-Offset: 0' -H 'Content-Type: application/offset+octet-stream' \
		--data-binary 01234 "$api/$(sed -n 's|^[Ll]ocation: .*\(u/[^\r]*\).*|\1|p' tus | tr -d '\r')"
	more modelrepo
	record modelrepo $api / /w3c /w3c/empty /w3c/sosa /w3c/sosa/1.0 /w3c/sosa/stable /w3c/sosa/latest /acme/pump/0.1 /c/w3c/sosa \
		/c/w3c/sosa/stable '/w3c/sosa/1.0/content?format=text/markdown' /c/acme/pump/0.1 /w3c/sosa/1.0/doc /h /v1/webhook /x/w3c
	stop
	pack modelrepo
}

flcollector() {
	local api=http://127.0.0.1:18835 job
	run flcollector flcollector -listen 127.0.0.1:18835 -grpc-listen 127.0.0.1:18836
	up $api/readyz
	job=$(jq '.server_conf.num_rounds = 3 | .stopping_flag = false' "$source/examples/flcollect/job.json")
	call POST $api/job/config/1 "$job"
	bin/flclient 127.0.0.1:18836
	until curl -fsS $api/job/status/1 | grep -q FINISHED; do sleep 0.1; done
	more flcollector
	call POST $api/model '{"model_name": "uploaded", "model_version": "1", "meta": {"library": "numpy", "description": "by hand"}}'
	curl -fsS -X PUT -F "file=@$source/examples/weather/json.ttl" $api/model/uploaded/1
	call POST $api/strategy '{"strategy_name": "gentle", "strategy_description": "a slow Adam", "meta": {"class": "FedAdam", "eta": "0.05"}}'
	call POST $api/transformation '{"id": "scale", "description": "to unit variance", "parameter_types": {"x": "array"}, "needs": {"GPU": false}}'
	curl -fsS -X PUT -F "file=@$source/examples/weather/csv.ttl" $api/transformation/scale
	curl -fsS -X PUT --data-binary "@$source/flcollect/ckks/testdata/tenseal/public" $api/job/he/public/waiting
	call POST $api/job/config/waiting "$(jq '.strategy = "gentle"' <<<"$job")" # no client trains it
	record flcollector $api /jobs /job/status/1 /job/rounds/1 /job/rounds/1/1/report /job/audit/1 /job/result/1 /job/he/public/waiting \
		/model /model/uploaded/1 '/model/meta?model_name=uploaded&model_version=1' /models/available /training-results \
		/training-results/weights/tumours/1.0/1 '/training-results/weights/tumours/1.0/1?format=npz' /strategy /transformation \
		/transformation/scale
	stop
	pack flcollector
}

# published SERVER prints a definition with an open operation, and one for callers with a key.
published() {
	jq -n --arg server "$1" '{openapi: "3.0.3", info: {title: "Weather", version: "1.0"}, servers: [{url: $server}], paths: {
		"/open": {get: {responses: {"200": {description: "ok"}}}},
		"/keyed": {get: {"x-kong-plugin-key-auth": {name: "key-auth", enabled: true, config: {key_names: ["apikey"]}},
			responses: {"200": {description: "ok"}}}}}}'
}

apimanager() {
	local admin=http://127.0.0.1:18839 portal=http://127.0.0.1:18837 auth=
	export APIMANAGER_DEMO_PASSWORD= APIMANAGER_CLIENT_SECRET= APIMANAGER_ADMIN_TOKEN=
	run apimanager apimanager -listen 127.0.0.1:18837 -gateway-listen 127.0.0.1:18838 -admin-listen 127.0.0.1:18839
	up $portal/readyz
	call POST $admin/consumers '{"username": "reader", "custom_id": "made-up"}'
	call POST $admin/consumers/reader/key-auth '{"key": "made-up-key-of-a-reader"}'
	call POST $admin/upstreams '{"name": "pumps.internal"}'
	call POST $admin/upstreams/pumps.internal/targets '{"target": "127.0.0.1:18840", "weight": 100}'
	call POST $admin/services '{"name": "pumps", "host": "pumps.internal", "protocol": "http", "port": 80}'
	call POST $admin/services/pumps/routes '{"name": "pumps", "paths": ["/pumps"]}'
	call POST $admin/services/pumps/plugins '{"name": "request-transformer", "config": {"add": {"headers": ["X-Made-Up: yes"]}}}'
	local password token
	password=$(jq -r .demo_password apimanager/credentials.json)
	token=$(curl -fsS $portal/auth/realms/OpenAPI/protocol/openid-connect/token -d grant_type=password \
		-d client_id=public-backend-access -d username=demodeveloper --data-urlencode "password=$password" | jq -r .access_token)
	published http://127.0.0.1:18840 >weather.json
	curl -fsS -H "Authorization: Bearer $token" -F upload_file=@weather.json \
		"$portal/OpenAPIDocumentation/?enabler=weather&description=Weather"
	jq '.info.version = "0.9"' weather.json >old.json
	curl -fsS -H "Authorization: Bearer $token" -F upload_file=@old.json \
		"$portal/OpenAPIDocumentation/?enabler=old&description=Old&state=draft&path=/old"
	record apimanager-admin $admin /services /routes /plugins /consumers /consumers/reader/key-auth /upstreams \
		/upstreams/pumps.internal/targets
	auth=$token
	record apimanager-portal $portal /OpenAPIDocumentation/ /OpenAPIDocumentation/weather /OpenAPIDocumentation/weather/definition \
		/OpenAPIDocumentation/old/versions /OpenAPIDocumentation/old/versions/0.9/definition
	stop
	pack apimanager
}

# multilink runs in a network namespace with interfaces of its own, which takes root.
multilink() {
	unshare --net bash -c "$(declare -f bonded run up stop pack record call); pids=(); work=$work target=$target; set -euo pipefail; bonded"
}

bonded() {
	local link
	ip link set lo up
	for link in wlan0 mesh0 wwan0; do
		ip tuntap add dev "$link" mode tap
		ip link set "$link" up
	done
	local server=http://127.0.0.1:18841 client=http://127.0.0.1:18842 auth
	export MULTILINK_TOKEN=
	run multilink-server multilink -role server -listen 127.0.0.1:18841 -tap made-up-server -address 10.15.0.1/24
	up $server/healthz
	auth=$(cat multilink-server/token)
	for link in wlan0 mesh0 wwan0; do
		call POST $server/interfaces/add '{"name": "'$link'", "kind": "wifi", "endpoint": "192.0.2.1:51820"}'
	done
	call PUT $server/interfaces '{"order": ["mesh0", "wlan0", "wwan0"]}'
	call PATCH $server/interfaces/wwan0 '{"metered": true, "cost": 5, "disabled": true, "probe": {"interval_ms": 20, "multiplier": 4}}'
	call POST $server/tunnel/client/add '{"name": "gateway-1"}' | jq '. + {server: "https://192.0.2.1:3333"}' >attach.json
	call POST $server/tunnel/client/add '{"name": "gateway-2"}' | jq -c '{public_key}' >second.json
	call PUT $server/tunnel/client/disable "$(cat second.json)"
	call PUT $server/bond '{"policy": "adaptive", "wait_to_restore_ms": 700, "reselect": "better"}'
	call PUT $server/classes '[{"name": "voice", "match": [{"dscp": [46]}], "policy": "redundant", "weight": 9}, {"name": "rest"}]'
	record multilink-server $server /interfaces /tunnel/client/ /bond /classes
	run multilink-client multilink -role client -listen 127.0.0.1:18842 -tap made-up-client
	up $client/healthz
	auth=$(cat multilink-client/token)
	for link in wlan0 mesh0; do call POST $client/interfaces/add '{"name": "'$link'", "kind": "wifi"}'; done
	call POST $client/tunnel/attach "$(cat attach.json)"
	record multilink-client $client /interfaces /tunnel/attach
	stop
	stop
	pack multilink-server
	pack multilink-client
}

enablers() {
	run enablers enablers -listen 127.0.0.1:18843 -modelrepo 127.0.0.1:18844 -flcollector 127.0.0.1:18845 \
		-flcollector-grpc 127.0.0.1:18846 -apimanager 127.0.0.1:18847 -gateway 127.0.0.1:18848 -gateway-admin 127.0.0.1:18849 \
		-mqtt 127.0.0.1:18830 -multilink 127.0.0.1:0 -multilink-client 127.0.0.1:0
	up http://127.0.0.1:18843/readyz
	up http://127.0.0.1:18847/readyz
	call POST http://127.0.0.1:18843/channels "$(cat "$source/examples/weather/channel.json")"
	call POST http://127.0.0.1:18844/w3c
	call POST http://127.0.0.1:18845/model '{"model_name": "uploaded", "model_version": "1"}'
	call POST http://127.0.0.1:18849/consumers '{"username": "reader"}'
	stop
	pack enablers
}

for command in ${COMMANDS:-annotator modelrepo flcollector apimanager multilink enablers}; do
	echo "== $command"
	"$command"
done
ls -l "$target"
