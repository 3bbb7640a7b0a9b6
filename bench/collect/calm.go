package main

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"time"
)

// await waits until nobody else wants to run, or for so long at most. Three
// looks in a row have to say so.
func (b *bench) await(ctx context.Context) {
	const pause, looks = 200 * time.Millisecond, 3
	deadline := time.Now().Add(b.calm)
	for quiet := 0; quiet < looks && time.Now().Before(deadline) && ctx.Err() == nil; quiet++ {
		if running() > 1 { // the one is this process
			quiet = -1
		}
		time.Sleep(pause)
	}
}

// running returns how many tasks want to run at this moment (proc(5),
// procs_running).
func running() int {
	text, _ := os.ReadFile("/proc/stat")
	found := regexp.MustCompile(`(?m)^procs_running (\d+)$`).FindSubmatch(text)
	if found == nil {
		return 1
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}
