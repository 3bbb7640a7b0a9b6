# How stages are run: one after another or in two rows, each as a process group whose output is printed
# when it ends, with the time by the clock and of the processors. Sourced by run and full.
#
# A stage is a function of stages.sh, which fails with its last command, or writes a word of its own
# into $scratch/result-STAGE. The run goes on after a failure, and fails in the end.
#
# No process is left behind, even if the run is killed: a watchdog ends the groups, and a run that hangs.

limit=5200 # seconds for a whole run, on a machine that is new too
[[ $gate == run ]] || limit=5400

# A clone that belongs to another user must not fail for its version stamp. Without paths, what is
# compiled for tests serves for images and packages as well, and in every clone.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false -trimpath"
# As on a machine without a C compiler, and as releases are built. Only the race detector needs one.
export CGO_ENABLED=0
export PATH="$PATH:/usr/sbin:/usr/local/go/bin"

scratch=$(mktemp -d)
# Where tests find our commands, which are built once; without it each builds its own.
export ENABLERS_PROGRAMS=$scratch/programs
main=$$
watchdog=        # process group of the watchdog
servers=         # process of the servers that stages share
declare -A group # process group of each stage that runs
declare -A began # second in which it started
only=           # stages that were asked for, all if empty
summary=()
failed=()

# With job control every background job is a process group of its own, so that
# a stage can be ended together with all that it has started. The groups are files
# as well, for the watchdog.
set -m
mkdir "$scratch/groups"

finish() {
	local status=$? name
	trap - EXIT INT TERM HUP
	for name in "${!group[@]}"; do
		end_group "${group[$name]}" || true
	done
	if [[ -n $servers ]]; then
		kill -TERM "$servers" 2>/dev/null && wait "$servers" || true
		end_group "$servers" || true
	fi
	kill -KILL -- "-$watchdog" 2>/dev/null || true
	rm -rf "$scratch"
	exit "$status"
}

# stop shows what the stages that run have printed so far.
stop() {
	local name
	for name in "${!group[@]}"; do
		end_group "${group[$name]}" || true
		cat "$scratch/log-$name"
		echo "STOPPED in stage $name after $((SECONDS - began[$name])) s" >&2
	done
	exit 1
}

trap finish EXIT
trap stop INT TERM HUP

# end_group ends the processes of a group, and fails if there are none.
end_group() {
	rm -f "$scratch/groups/$1"
	kill -KILL -- "-$1" 2>/dev/null
}

# watch starts the watchdog.
watch() {
	(
		trap - EXIT INT TERM HUP
		while kill -0 "$main" 2>/dev/null; do
			if [[ $SECONDS -ge $limit ]]; then
				kill -TERM "$main"
			fi
			sleep 2
		done
		for file in "$scratch"/groups/*; do
			kill -KILL -- "-${file##*/}" 2>/dev/null || true
		done
		rm -rf "$scratch"
	) >/dev/null 2>&1 &
	watchdog=$!
	disown "$watchdog"
}

# ask STAGE... selects stages; without arguments, all that are known. What tests start as processes, and what they
# run against, is always part of it.
ask() {
	local name
	for name; do
		if [[ " "$(echo $known)" " != *" $name "* ]]; then
			echo "${BASH_SOURCE[1]}: no stage \"$name\"; the stages are:" $known >&2
			exit 2
		fi
	done
	only="$*"
}

asked() { [[ -z $only || " programs peers $only " == *" $1 "* ]]; }

# start NAME starts a stage in the background.
start() {
	local name=$1
	echo "=== $name: started after $SECONDS s"
	began[$name]=$SECONDS
	{
		trap 'times >"$scratch/times-$stage"' EXIT
		stage=$name
		"$name" </dev/null
	} >"$scratch/log-$name" 2>&1 &
	group[$name]=$!
	touch "$scratch/groups/$!"
}

# ended NAME STATUS prints what a stage printed, and how it ended.
ended() {
	local name=$1 result=ok
	if end_group "${group[$name]}"; then
		echo "note: stage $name left processes behind; they were ended" >>"$scratch/log-$name"
	fi
	unset "group[$name]"
	if [[ -e $scratch/result-$name ]]; then
		result=$(<"$scratch/result-$name")
	elif [[ $2 -ne 0 ]]; then
		result=FAILED
	fi
	if [[ $result != ok && $result != skipped ]]; then
		failed+=("$name")
	fi
	printf '\n=== %s\n' "$name"
	cat "$scratch/log-$name"
	printf '=== %s: %s\n\n' "$name" "$result"
	summary+=("$(printf '%-10s %-8s %4d s, of processors %4d s' "$name" "$result" "$((SECONDS - began[$name]))" "$(worked "$name")")")
}

# worked NAME prints the seconds of processor time that the programs of a stage took. Programs whose parent did
# not wait for them, such as those of a browser, are missing.
worked() {
	[[ ! -e $scratch/times-$1 ]] || tr 'ms' '  ' <"$scratch/times-$1" | awk '{ sum += 60 * $1 + $2 + 60 * $3 + $4 } END { printf "%d", sum }'
}

# machine_worked prints the seconds of processor time that all programs of this machine have taken.
machine_worked() {
	[[ ! -r /proc/stat ]] || awk -v ticks="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d", ($2 + $3 + $4 + $7 + $8) / ticks }' /proc/stat
}

# stages runs its arguments one after another, those behind "beside" at the same time, one after another as well. A row
# that is done takes the last stage of the other one. Stages that were not asked for are left out.
stages() {
	local row=first rows=1 other name status pid
	local -A queue=([first]="" [beside]="") current=([first]="" [beside]="")
	for name; do
		if [[ $name == beside ]]; then
			row=beside rows=2
		elif asked "$name"; then
			queue[$row]+=" $name"
		fi
	done
	while true; do
		for row in first beside; do
			other=first
			[[ $row == beside ]] || other=beside
			name=
			if [[ -n ${current[$row]} ]]; then
				continue
			elif [[ -n ${queue[$row]} ]]; then
				read -r name "queue[$row]" <<<"${queue[$row]}"
			elif [[ $rows -eq 2 && ${queue[$other]} == *[a-z]* ]]; then
				name=${queue[$other]##* }
				queue[$other]=${queue[$other]% *}
				[[ ${queue[$other]} != "$name" ]] || queue[$other]=
			fi
			if [[ -n $name ]]; then
				current[$row]=$name
				start "$name"
			fi
		done
		if [[ -z ${current[first]}${current[beside]} ]]; then
			return
		fi
		status=0
		wait -n -p pid "${group[@]}" || status=$?
		for row in first beside; do
			name=${current[$row]}
			if [[ -n $name && ${group[$name]} == "$pid" ]]; then
				ended "$name" "$status"
				current[$row]=
			fi
		done
	done
}

# failures NAME prints what a stage said about what failed, at most 150 lines.
failures() {
	printf '\n=== what failed in %s\n' "$1"
	grep -nE -A 25 '^ *--- FAIL|^--- FAIL|DATA RACE|^panic: |^FAIL|^FAILED|^✖|^not ok|: error: ' "$scratch/log-$1" | cut -c 1-400 | head -n 150 || true
	echo "..."
	tail -n 8 "$scratch/log-$1" | cut -c 1-400
}

# report prints what failed and the summary, and fails if a stage did.
report() {
	local name
	for name in "${failed[@]}"; do
		failures "$name"
	done
	printf '\n=== summary\n'
	printf '%s\n' "${summary[@]}"
	echo "total ${SECONDS} s; all processors of this machine worked $(($(machine_worked) - worked_before)) s meanwhile"
	if [[ ${#failed[@]} -gt 0 ]]; then
		echo "FAILED: ${failed[*]}"
		return 1
	fi
	echo "all green"
}

worked_before=$(machine_worked)
watch
