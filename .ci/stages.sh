# What each stage does. Sourced by run and full; $gate is "run" or "full". Where a stage is part of both,
# that of run is smaller.

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
helpers=()            # what stands before "go test", such as sudo
packages=${PACKAGES:-./...} # of race and fuzz

full() { [[ $gate == full ]]; }

as_root() {
	if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

# tried runs "go test" with these arguments. In full, tests that fail run once more, one package after another: if they hold
# then, the stage is "unsteady", which is a failure of its own kind. What does not build, a data race, a panic and a run that
# hangs get no second run.
tried() {
	local log flags=() argument package tests cgo=0
	log=$(mktemp "$scratch/tried-XXXXXX")
	if [[ " $* " == *" -race "* ]]; then
		cgo=1
	fi
	if "${helpers[@]}" env CGO_ENABLED=$cgo go test "$@" 2>&1 | tee "$log"; then
		return 0
	fi
	full || return 1
	# A package and its tests that failed; none where something else did.
	awk '/^--- FAIL: / { tests = tests "|" $3 } /^(ok|FAIL)\t/ { if ($1 == "FAIL") print $2, substr(tests, 2); tests = "" }' \
		"$log" >"$log-again"
	if [[ ! -s $log-again ]] || grep -qE '^FAIL.*\[(build|setup) failed\]|WARNING: DATA RACE|^panic: ' "$log"; then
		return 1
	fi
	for argument; do
		case $argument in
		. | ./* | github.com/*) ;;
		*) flags+=("$argument") ;;
		esac
	done
	while read -r package tests; do
		echo "note: once more: ${tests:-all tests} of $package"
		"${helpers[@]}" env CGO_ENABLED=$cgo go test "${flags[@]}" -count=1 -run "^(${tests:-.*})\$" "$package" </dev/null || return 1
	done <"$log-again"
	echo unsteady >"$scratch/result-$stage"
}

# A test without the peers, one that has to have them, and one that is root besides.
alone() { (unset ENABLERS_MONGODB ENABLERS_S3 && ENABLERS_REQUIRE_PEERS=0 tried "$@"); }
with_peers() { ENABLERS_REQUIRE_PEERS=1 tried -count=1 -timeout 15m "$@"; }
privileged() {
	local helpers=(as_root env "PATH=$PATH" "GOFLAGS=$GOFLAGS" "FAULTS=${FAULTS:-}" "ENABLERS_IMAGES=${ENABLERS_IMAGES:-}"
		"ENABLERS_PROGRAMS=$ENABLERS_PROGRAMS" "ENABLERS_MONGODB=${ENABLERS_MONGODB:-}" "ENABLERS_S3=${ENABLERS_S3:-}"
		ENABLERS_REQUIRE_PEERS=1)
	tried -count=1 -timeout 15m "$@"
}

# peers installs what the tests run against, and the C compiler that the race
# detector needs. No service is used: the tests start their own processes on
# free ports. RUNLEVEL=1 asks the packages not to start one either.
peers() {
	local missing=()
	need() { command -v "$1" >/dev/null || missing+=("${@:2}"); }
	need mosquitto mosquitto
	need chromium-headless-shell chromium-headless-shell
	need npm nodejs npm
	need java default-jre-headless
	need tc iproute2
	need "$(go env CC)" gcc libc6-dev
	python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
	if full; then
		need mosquitto_pub mosquitto-clients
		need rapper raptor2-utils
		need skopeo skopeo
		need ssh-keygen openssh-client
		need mvn maven
		need curl curl
		need jq jq
		need qemu-system-x86_64 qemu-system-x86
		need busybox busybox-static
		need iw iw
		need hostapd hostapd
		need wpa_supplicant wpasupplicant
		need iperf3 iperf3
		need unshare util-linux
		need mkfs.ext4 e2fsprogs
		need podman podman conmon crun
		compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || need initdb postgresql
		need mariadbd mariadb-server-core mariadb-client-core
	fi
	if [[ ${#missing[@]} -gt 0 ]]; then
		as_root apt-get -qq update
		as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
			apt-get -qq -y --no-install-recommends install "${missing[@]}"
	fi
	go version
	echo "mosquitto at $(command -v mosquitto)"
}

# programs builds what tests start as processes.
programs() {
	mkdir -p "$ENABLERS_PROGRAMS"
	go build -ldflags '-s -w' -o "$ENABLERS_PROGRAMS/" ./cmd/... ./examples/flclient ./examples/gateway ./examples/multilinkpage ./test/peers
}

# serve STAGE... starts the FerretDB and the MinIO that these stages share, if one of them is asked for, and waits until both
# answer.
serve() {
	local name wanted=
	for name; do
		! asked "$name" || wanted=yes
	done
	[[ -n $wanted ]] || return 0
	(
		trap - EXIT INT TERM HUP
		ENABLERS_REQUIRE_PEERS=1 TMPDIR=$scratch exec "$ENABLERS_PROGRAMS/peers"
	) >"$scratch/peers" 2>"$scratch/peers-log" </dev/null &
	servers=$!
	touch "$scratch/groups/$servers"
	until [[ $(grep -cE '^ENABLERS_(MONGODB|S3)=' "$scratch/peers") -eq 2 ]]; do
		if ! kill -0 "$servers" 2>/dev/null; then
			cat "$scratch/peers-log"
			echo "FAILED: the FerretDB and the MinIO that stages share do not start"
			exit 1
		fi
		sleep 0.2
	done
	export $(grep -E '^ENABLERS_(MONGODB|S3)=' "$scratch/peers")
}

format() {
	local unformatted
	unformatted=$(gofmt -l .)
	if [[ -n $unformatted ]]; then
		printf 'not formatted by gofmt:\n%s\n' "$unformatted"
		return 1
	fi
}

vet() { go vet ./... && (cd bench && go vet ./...); }

lint() { go run "$staticcheck" ./... && (cd bench && go run "$staticcheck" ./...); }

# modules checks this module. In full it checks those below bench and test as well, which hold peers and what this
# one must not depend on. Those without tests are programs of few lines over large modules:
# their types are checked. The tests of test/interop/oidc need a Keycloak, those of
# test/deploy the images.
modules() {
	local file
	go mod tidy -diff
	go mod verify
	(cd bench && go mod tidy -diff)
	full || return 0
	build_checker
	(cd deploy/tools && go vet ./... && go mod verify)
	(cd bench && go mod verify && with_peers -vet=off ./...)
	for file in test/*/go.mod test/interop/*/go.mod; do
		if compgen -G "${file%/*}/*.go" >/dev/null; then
			echo "${file%/go.mod}"
			(
				cd "${file%/*}"
				go mod verify
				if ! compgen -G '*_test.go' >/dev/null; then
					"$scratch/platforms" "linux/$(go env GOARCH)"
					exit
				fi
				go vet ./...
				if [[ $file != test/interop/* && $file != test/deploy/* ]]; then
					with_peers -vet=off ./...
				fi
			)
		fi
	done
}

# platforms checks the types for systems that this machine is not, of the tests too where
# they run there. With 32 bits an int is too small for some constants.
platforms() {
	local on=(linux/386 linux/arm64 windows/amd64 darwin/arm64)
	build_checker
	"$scratch/platforms" "${on[@]}"
	(cd bench && "$scratch/platforms" "${on[@]}")
	footprint
}

# footprint compares what the commands need, with and without the parts that build tags leave out, with the bounds in .ci/footprint.
footprint() {
	local tags=no_mongodb,no_otlp,no_s3,no_wasm small=$scratch/small status=0 command size idle small_size small_idle flags
	go vet -tags "$tags" ./cmd/...
	go test -vet=off -tags "$tags" -run namesTheTag ./cmd/internal/stores
	mkdir -p "$small"
	go build -tags "$tags" -ldflags '-s -w' -o "$small/" ./cmd/...
	while read -r command size idle small_size small_idle flags; do
		within "$ENABLERS_PROGRAMS/$command" "$size" "$idle" $flags || status=1
		within "$small/$command" "$small_size" "$small_idle" $flags || status=1
	done < <(grep -v '^#' .ci/footprint)
	return "$status"
}

# within PROGRAM SIZE IDLE [FLAG...] compares the size of a program, and its memory two seconds after it has begun to listen,
# with bounds in MB. A program whose bound of memory is "-" is not started.
within() {
	local size memory=- data process
	size=$(($(stat -c %s "$1") / 1000000))
	if [[ $3 != - ]]; then
		data=$(mktemp -d "$scratch/idle-XXXXXX")
		: >"$data.out"
		"$1" -listen 127.0.0.1:0 -data "$data" "${@:4}" </dev/null >"$data.out" 2>"$data.log" &
		process=$!
		timeout 60 grep -q '^listening on' <(tail -f --pid=$process -n +1 "$data.out")
		sleep 2
		memory=$(awk '/^VmRSS/ { print int($2 * 1024 / 1000000) }' "/proc/$process/status")
		kill "$process"
		wait "$process" || true
	fi
	echo "$1: $size MB of $2, idle $memory MB of $3"
	[[ $size -le $2 ]] && [[ $3 == - || $memory -le $3 ]]
}

build_checker() { (cd test/platforms && go build -o "$scratch/platforms" .); }

# vulns needs a database on the network. Where it cannot be reached
# the workflow of the public forge is the one that looks.
vulns() {
	if ! curl -fsS -m 10 -o /dev/null https://vuln.go.dev/index/db.json; then
		echo "SKIPPED: https://vuln.go.dev cannot be reached from here"
		echo skipped >"$scratch/result-vulns"
		return 0
	fi
	go run "$govulncheck" ./...
}

# test is what a machine with nothing but Go runs. The stage vet looks at more than it would.
test() { GOFLAGS="$GOFLAGS -vet=off" alone ./...; }

# race runs the packages of the table in .ci/raced with the race detector: with fixed order, so that what has not changed
# is not run again. In full it runs all packages, in random order, but those that brokers, stores, databases and multilink run
# with the detector: with peers, or alone, and those that only read files. With -short the tests leave out long calculations,
# which the detector slows down tenfold.
race() {
	if full; then
		alone -race -short -vet=off -shuffle=on -timeout 20m \
			$(listed $packages | grep -vxFf <(in_stores; listed ./annotate/{mqtt,kafka}/... ./annotate/rml/relational/... ./multilink/... ./internal/archtest ./test/...))
	else
		alone -race -short -vet=off -timeout 20m $(raced)
	fi
}

# raced prints the packages of the table, and fails if one of them does not exist.
raced() { listed $(sed -E 's/[[:space:]]*#.*//' .ci/raced); }

# listed prints the folders of packages.
listed() { go list -f '{{.Dir}}' "$@" | sed "s|^$PWD|.|"; }

# importers NAME PACKAGE... prints the folders of those packages whose tests import the
# package of that name.
importers() {
	local name=$1
	shift
	go list -f '{{.Dir}} {{range .TestImports}}{{.}} {{end}}{{range .XTestImports}}{{.}} {{end}}' "$@" |
		grep "/$name " | cut -d ' ' -f 1 | sed "s|^$PWD|.|"
}

# in_stores prints the folders of the packages that the stage stores runs; those below test have stages of their own.
in_stores() {
	{
		importers storage/mongo/mongotest ./...
		importers storage/s3/s3test ./...
	} | grep -v '^\./test/' | sort -u
}

# stores runs what needs a MongoDB or a bucket, with FerretDB, MinIO and the race detector. In run it takes the suites of the
# storage contract, each block once on these drivers, and a command of each kind on a database.
stores() {
	with_peers ./test/peers
	if full; then
		with_peers -race -short -shuffle=on $(in_stores)
	else
		with_peers -race -short -run 'Test(Documents|Blobs)_conforms$|over(Mongo|S3|Servers)|OverServers' ./storage/mongo ./storage/s3 \
			./modelrepo/modelrepotest ./flcollect ./flcollect/repository ./apimgmt
		with_peers -run 'FromADatabase|OfADatabase|severalServersShareOneStore' ./cmd/annotator ./cmd/modelrepo ./cmd/flcollector ./cmd/apimanager
	fi
}

# databases runs the sources of mappings that PostgreSQL and MariaDB hold.
databases() { with_peers -race -short -shuffle=on ./annotate/rml/relational/...; }

# brokers runs the drivers with Mosquitto and Apache Kafka. In run it takes one delivery through each: the suite with Mosquitto,
# and exactly once with Kafka.
brokers() {
	with_peers ./annotate/kafka/kafkatest # fetches Apache Kafka
	if full; then
		with_peers -race -shuffle=on ./annotate/mqtt/... ./annotate/kafka/...
	else
		with_peers -v -run 'TestBroker_passesTheSuiteWithMosquitto|TestBroker_Transact_commits' ./annotate/mqtt ./annotate/kafka
	fi
}

# interop leaves out the clients in Python and Keycloak, which have stages of
# their own.
interop() {
	local packages
	packages=$(go list ./test/interop/... | grep -v -e /flower -e /keycloak)
	with_peers ./apimgmt/definition ./annotate/rdf/shacl
	with_peers -v ./cmd/internal/management/load $packages
}

# flower runs what needs Python. In run that is one release of Flower's clients with start_client, and one with SuperNodes. The
# first time packages are fetched, for some minutes.
flower() {
	if full; then
		with_peers -shuffle=on ./internal/peertest $(importers internal/peertest ./flcollect/... ./examples/...)
		with_peers -v ./test/interop/flower
	else
		with_peers -v -short ./test/interop/flower
	fi
}

# keycloak runs what needs a Keycloak, signs in there with Chromium, and tries
# clients of other projects on it and on the built-in identity provider, from a
# module of their own. The first time it fetches 176 MB and builds for half a
# minute.
keycloak() {
	with_peers -v ./test/interop/keycloak/...
	(cd test/interop/oidc && with_peers -v ./...)
}

# images builds the images, packages and a release, and tries them: as containers, on an
# overlay of this machine, and as pods of the chart.
images() {
	VERSION=devel deploy/images/build.sh "$scratch/images" "linux/$(go env GOARCH)"
	export ENABLERS_IMAGES=$scratch/images
	privileged ./test/images ./test/packages ./test/release
	(cd test/deploy && privileged -vet=off ./...)
}

# takeover kills servers that share a store, and measures seconds.
takeover() { with_peers -p 1 -v ./test/takeover ./test/ha; }

# faults breaks what the servers stand on: full and read-only disks, truncated files, kill -9,
# a power cut, no descriptors, a clock that is set. It takes root for mounts. FAULTS=full tries every place.
faults() { privileged ./test/faults; }

# vm runs virtual machines with the kernel of the distribution, which is fetched
# the first time (70 MB). Their processors are emulated: on a busy machine it takes a quarter of an hour.
vm() { privileged -timeout 30m ./test/multilink/vm/...; }

# multilink runs what needs root for network namespaces, one package at a time, since
# it measures milliseconds.
multilink() {
	if full; then
		privileged -p 1 ./test/multilink/namespaces
		privileged -p 1 -race -shuffle=on ./multilink/...
	else
		privileged -p 1 -short ./test/multilink/namespaces ./multilink/host
	fi
}

# browser tries the pages in Chromium: in run journeys by mouse and what all pages share, in full everything. Pictures of
# the pages are left in the folder pictures.
browser() {
	local log=$scratch/browser again script=test
	mkdir -p pictures
	export SCREENSHOTS=${SCREENSHOTS:-$PWD/pictures}
	cd test/browser
	trap 'times >"$scratch/times-$stage"; rm -rf node_modules' EXIT
	npm ci --no-audit --no-fund --ignore-scripts
	full || script=quick
	if npm run --silent "$script" | tee "$log"; then
		return 0
	fi
	full || return 1
	again=$(awk '/^ *not ok/ { failed = 1 } failed && /location:/ { print; failed = 0 }' "$log" | grep -oE '[a-z-]+\.test\.js' | sort -u)
	echo "note: once more: $again"
	node --test --test-reporter=tap --test-concurrency=1 $again || return 1
	echo unsteady >"$scratch/result-browser"
}

# fuzz runs every fuzz target for FUZZTIME, 30 s by default, four at a time. What covers new code is kept in the user's cache
# folder and is where the next run begins. A finding is written below testdata of its package, to be committed as a seed.
fuzz() {
	local name package status=0 busy=0
	grep -H '^func Fuzz' $(go list -f '{{$dir := .Dir}}{{range .TestGoFiles}}{{$dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}} {{end}}' $packages |
		sed "s|$PWD/|./|g") /dev/null |
		sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\2 \1|' | sort -k 2 >"$scratch/fuzz-targets"
	if [[ ! -s $scratch/fuzz-targets ]]; then
		echo "no fuzz target was found: the decoders have lost theirs"
		return 1
	fi
	echo "$(wc -l <"$scratch/fuzz-targets") targets, $fuzztime each"
	while read -r package; do
		go test -vet=off -c -ldflags '-s -w' -fuzz . -o "$scratch/${package//\//_}.fuzz" "$package"
	done < <(cut -d ' ' -f 2 "$scratch/fuzz-targets" | uniq)
	while read -r name package; do
		if [[ $busy -eq 4 ]]; then
			wait -n || status=1
			busy=3
		fi
		fuzz_one "$name" "$package" &
		busy=$((busy + 1))
	done <"$scratch/fuzz-targets"
	while [[ $busy -gt 0 ]]; do
		wait -n || status=1
		busy=$((busy - 1))
	done
	return "$status"
}

fuzztime=${FUZZTIME:-30s}
corpus=${XDG_CACHE_HOME:-$HOME/.cache}/enablers/corpus

# fuzz_one prints one line if the target holds, and otherwise all its output. Where
# the time of a run ends within an input, the fuzzer sometimes reports that as a
# failure, without an input that fails: such a target gets a longer run.
fuzz_one() {
	local name=$1 package=$2 log attempt input
	log=$scratch/fuzz-${package//\//_}-$name
	for attempt in "$fuzztime" 45s; do
		if (cd "$package" && "$scratch/${package//\//_}.fuzz" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$attempt" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$corpus/$package" -test.parallel 1) >"$log" 2>&1 &&
			grep -q 'execs: ' "$log"; then
			echo "ok     $package $name: $(grep -o 'execs: [0-9]*' "$log" | tail -n 1)"
			return 0
		fi
		if grep -q 'Failing input written' "$log" || ! grep -qxE ' *context deadline exceeded|PASS' "$log"; then
			break
		fi
		echo "again  $package $name: $attempt was too short"
	done
	echo "FAILED $package $name"
	cat "$log"
	input=$package/$(sed -n 's/.*Failing input written to //p' "$log")
	if [[ -f $input ]]; then
		cat "$input"
	fi
	return 1
}
