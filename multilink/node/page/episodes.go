package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/multilink/node/internal/events"
	"github.com/iotenablers/enablers/multilink/status"
)

// Bounds of episodes.
const (
	episodeGap    = 5 * time.Second // between two events of one episode, at most
	episodeEvents = 50              // that an episode shows, the newest
	shownEpisodes = 30              // on the page
)

// episode is events of one kind, about the same link and peer, that follow each other
// closely: a link that is late again and again is one line of the page.
type episode struct {
	// ID is that of its first event.
	ID   string `json:"id"`
	Type string `json:"type"`
	Peer string `json:"peer,omitempty"`
	// State of the link after it, where it is about a link.
	State status.State `json:"state,omitempty"`
	// Text says what happened, with the last reason.
	Text string `json:"text"`
	// Times is how many events it has, from First to Last.
	Times int       `json:"times"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Events are the newest of them, the newest first.
	Events []episodeEvent `json:"events"`
	// Span says how often and for how long, empty for a single event.
	Span string `json:"span"`
}

// episodeEvent is one event of an episode.
type episodeEvent struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
}

// episodeKey is what the events of an episode have in common.
type episodeKey struct {
	Type, Peer, Link, From string
	Change                 string // what was configured
	State                  status.State
}

func keyOfEvent(e status.Event) episodeKey {
	k := episodeKey{Type: e.Type, Peer: e.Peer, Link: e.Link, From: e.From, State: e.State}
	if e.Type == "config" || e.Type == "policy" {
		k.Change = e.Reason
	}
	return k
}

// late returns the key of the events that the same link is late.
func (k episodeKey) late() episodeKey {
	k.State = status.Suspect
	return k
}

// add takes one more event, which is the newest.
func (e *episode) add(event status.Event) {
	e.Times++
	e.Text, e.State = describeEvent(event), shownState(event)
	e.append(event)
	if e.Times > 1 {
		e.Span = fmt.Sprintf("%d times in %s", e.Times, durationText(e.Last.Sub(e.First)))
	}
}

// recover takes the event that a late link is up again, which is the end of that and not one
// more thing that happens.
func (e *episode) recover(event status.Event) {
	e.Text, e.State = event.Link+" was late, and is up again", event.State
	e.append(event)
}

func (e *episode) append(event status.Event) {
	e.Last = event.Time.UTC()
	e.Events = append([]episodeEvent{{e.Last, cmp.Or(event.Reason, e.Text)}}, e.Events[:min(len(e.Events), episodeEvents-1)]...)
}

// newEpisodes puts events, the oldest first, into episodes, the one that began last first.
// An episode keeps its place while it grows.
func newEpisodes(latest []events.Numbered, id func(number uint64) string) []*episode {
	var episodes []*episode // the first one first
	open := map[episodeKey]*episode{}
	for _, one := range latest {
		k := keyOfEvent(one.Event)
		if late := open[k.late()]; k.State == status.Up && late != nil && one.Event.Time.Sub(late.Last) <= episodeGap {
			late.recover(one.Event)
			continue
		}
		e := open[k]
		if e == nil || one.Event.Time.Sub(e.Last) > episodeGap {
			e = &episode{ID: id(one.Number), Type: k.Type, Peer: k.Peer, First: one.Event.Time.UTC()}
			open[k] = e
			episodes = append(episodes, e)
		}
		e.add(one.Event)
	}
	newest := make([]*episode, 0, shownEpisodes)
	for i := len(episodes) - 1; i >= 0 && len(newest) < shownEpisodes; i-- {
		newest = append(newest, episodes[i])
	}
	return newest
}

// shownState returns the state that an event is about.
func shownState(e status.Event) status.State {
	if e.Type != "link" && e.Type != "peer" {
		return ""
	}
	return e.State
}

// describeEvent returns in words what happened.
func describeEvent(e status.Event) string {
	text := ""
	switch e.Type {
	case "link":
		text = e.Link + " is " + stateText(e.State)
	case "failover":
		text = orNo(e.Link) + " took over from " + orNo(e.From)
	case "return":
		text = "back to " + e.Link + " from " + orNo(e.From)
	case "missed":
		return fmt.Sprintf("%d events are missing", e.Missed)
	default:
		text = e.Link
	}
	switch {
	case text == "":
		return e.Reason
	case e.Reason == "", strings.HasSuffix(text, e.Reason): // late, because it is late
		return text
	}
	return text + ": " + e.Reason
}

func orNo(link string) string {
	if link == "" {
		return "no link"
	}
	return link
}

// stateText returns a state in the words of the pages.
func stateText(s status.State) string {
	switch s {
	case status.Suspect:
		return "late"
	case status.Probing:
		return "heard again"
	}
	return string(s)
}

// durationText writes a duration in seconds or minutes.
func durationText(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
}
