package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how many units of CPU time /proc counts in a second (USER_HZ, which is 100 on Linux).
const ticks = 100

// seen is what a group of processes was seen to take: the peak of the sum of their resident memory, and the CPU time
// of all that ever ran, as of the last look at each.
type seen struct {
	peak         int64
	user, system float64
}

// watchGroup looks at the processes of a group four times per second, and calls stop when they have more than limit bytes
// together. The function that it returns ends it. Elsewhere than on Linux it sees nothing.
func watchGroup(group int, limit int64, stop func()) func() seen {
	var total seen
	user, system := make(map[string]float64), make(map[string]float64) // by process
	look := func() {
		rss := int64(0)
		files, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // it has ended
			}
			_, after, _ := strings.Cut(string(text), ") ")
			fields := strings.Fields(after) // from the third of proc(5) on
			if len(fields) < 22 || fields[2] != strconv.Itoa(group) {
				continue
			}
			number := func(i int) float64 { n, _ := strconv.ParseFloat(fields[i-3], 64); return n }
			user[file], system[file] = number(14)/ticks, number(15)/ticks
			rss += int64(number(24)) * int64(os.Getpagesize())
		}
		total.peak = max(total.peak, rss)
		if rss > limit {
			stop()
		}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			look()
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return func() seen {
		close(end)
		<-ended
		for file := range user {
			total.user += user[file]
			total.system += system[file]
		}
		return total
	}
}
