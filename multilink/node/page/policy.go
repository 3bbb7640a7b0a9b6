package page

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/multilink/settings"
)

func (p *pages) policy(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	return p.showPolicy(w, r, view, nil)
}

func (p *pages) showPolicy(w http.ResponseWriter, r *http.Request, view *formView, err error) error {
	return p.showAs(w, r, "policy.html", view, err)
}

// policyForm returns the page of the policy: a form for the bond, and one that switches by hand. They have
// the present values where none are entered.
func (p *pages) policyForm(w http.ResponseWriter, r *http.Request) (*formView, error) {
	head := p.node.Settings().Head
	links := make([]string, len(head.Links))
	for i, link := range head.Links {
		links[i] = link.Name
	}
	view := &formView{Frame: p.part.Frame(r, "Policy"), Fields: form.Fields{
		{Name: "bond", Kind: form.Group, Fields: form.Fields{
			{Name: "policy", Label: "Frames travel by", Kind: form.Choice, Options: form.Options(settings.Policies()...),
				Hint: "active-backup: the best link alone. redundant: a copy over every link. adaptive: the best link, and copies over " +
					"the next while it is doubtful. balance-flow: each flow keeps one of the links."},
			{Name: "wait_to_restore_ms", ID: "wait", Label: "Wait to restore (ms)", Kind: form.Number, Step: "any", Low: "0", High: "3600000",
				Hint: "How long a link has to be good before it is used again"},
			{Name: "replay", Label: "Send again at a failover what was under way", Kind: form.Check},
		}},
		{Name: "switch", Kind: form.Group, Fields: form.Fields{
			{Name: "link", Label: "Link", Kind: form.Choice, Options: form.Options(links...)},
			{Name: "hold_s", ID: "hold", Label: "For (seconds)", Kind: form.Number, Step: "1", Low: "1", High: "86400"},
		}},
	}}
	view.Show(map[string]any{
		"policy": string(head.Bond.Policy), "wait_to_restore_ms": *head.Bond.Wait, "replay": *head.Bond.Replay, "hold_s": "60",
	})
	if r.Method != http.MethodPost {
		return view, nil
	}
	if err := httpapi.ReadForm(w, r, rest.MaxBody); err != nil {
		return nil, err
	}
	if r.PostForm.Has("policy") {
		view.Group("bond").Fill(r.PostForm)
	} else {
		sent := url.Values{"hold_s": {view.Get("hold_s")}} // unless the browser says it
		maps.Copy(sent, r.PostForm)
		view.Group("switch").Fill(sent)
	}
	return view, nil
}

func (p *pages) setPolicy(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	wait, err := view.number("wait_to_restore_ms")
	if err == nil {
		_, err = p.node.Change(r.Context(), desired.SetBond(func(bond *desired.Bond) error {
			replay := view.Get("replay") != ""
			bond.Policy = settings.Policy(view.Get("policy"))
			bond.Wait = &wait
			bond.Replay = &replay
			return nil
		}))
	}
	if err != nil {
		return p.showPolicy(w, r, view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), "The policy is "+view.Get("policy")+".")
}

// switchTo prefers a link for a time, or ends that.
func (p *pages) switchTo(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	link, text, end := view.Get("link"), "", r.PostForm.Has("end")
	if end {
		link, text = "", "The switch by hand has ended."
	}
	hold, err := view.number("hold_s")
	switch {
	case err != nil:
	case !end && link == "":
		err = fault.Wrong("link", "must be the name of a link")
	case !(hold >= 0 && hold <= desired.LongestHold.Seconds()):
		err = fault.Wrong("hold_s", "must be 0 to %.0f, got %v", desired.LongestHold.Seconds(), hold)
	default:
		err = p.node.Switch(r.Context(), link, time.Duration(hold*float64(time.Second)))
	}
	if err != nil {
		return p.showPolicy(w, r, view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), cmp.Or(text, "Switched to "+link+"."))
}
