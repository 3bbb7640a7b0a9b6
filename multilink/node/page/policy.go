package page

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

func (p *pages) policy(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	return p.show(w, r, "policy.html", view, nil)
}

// policyForm is the form of the policy, with the present values where none are entered.
func (p *pages) policyForm(w http.ResponseWriter, r *http.Request) (*formView, error) {
	view, err := p.form(w, r, "Policy")
	if err != nil || view.Values.Has("policy") {
		return view, err
	}
	bond := p.node.Settings().Head.Bond
	view.Values.Set("policy", string(bond.Policy))
	view.Values.Set("wait_to_restore_ms", strconv.FormatFloat(*bond.Wait, 'f', -1, 64))
	if *bond.Replay {
		view.Values.Set("replay", "on")
	}
	if !view.Values.Has("hold_s") {
		view.Values.Set("hold_s", "60")
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
		_, err = p.node.Change(r.Context(), desired.SetBond(func(form *desired.Bond) error {
			replay := view.Is("replay")
			form.Policy, form.Wait, form.Replay = settings.Policy(view.Value("policy")), &wait, &replay
			return nil
		}))
	}
	if err != nil {
		return p.show(w, r, "policy.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), "The policy is "+view.Value("policy")+".")
}

// switchTo prefers a link for a time, or ends that.
func (p *pages) switchTo(w http.ResponseWriter, r *http.Request) error {
	view, err := p.policyForm(w, r)
	if err != nil {
		return err
	}
	link, text := view.Value("link"), ""
	if view.Is("end") {
		link, text = "", "The switch by hand has ended."
	}
	hold, err := view.number("hold_s")
	switch {
	case err != nil:
	case !view.Is("end") && link == "":
		err = fault.Wrong("link", "there is no link to switch to")
	case !(hold >= 0 && hold <= desired.LongestHold.Seconds()):
		err = fault.Wrong("hold_s", "want 0 to %.0f, got %v", desired.LongestHold.Seconds(), hold)
	default:
		err = p.node.Switch(r.Context(), link, time.Duration(hold*float64(time.Second)))
	}
	if err != nil {
		return p.show(w, r, "policy.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "status"), cmp.Or(text, "Switched to "+link+"."))
}
