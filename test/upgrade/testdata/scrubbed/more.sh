#!/usr/bin/env bash
# What the archives of this folder have besides those of ../undivided, whose make.sh reads this by MORE.

# Contents of which one is damaged on disk, and a scrub that has found it.
more_modelrepo() {
	local damaged
	damaged=$(grep -rlx 12345 "$work/modelrepo")
	chmod u+w "$damaged"
	printf '0' | dd of="$damaged" conv=notrunc status=none
	call POST $api/x/scrub
	until call GET $api/i | grep -q '"damagedContents":1'; do sleep 0.1; done
	record modelrepo-integrity $api /i
}

# A second run of a job, with goals of both directions.
more_flcollector() {
	job=$(jq '.stopping_flag = true | .stopping_target = {accuracy: 0.999, loss: {below: 0.9, patience: 3}}' <<<"$job")
	call POST $api/job/config/1 "$job"
	bin/flclient 127.0.0.1:18836
	until curl -fsS $api/job/status/1 | grep -q FINISHED; do sleep 0.1; done
	record flcollector-runs $api /job/runs/1
}
