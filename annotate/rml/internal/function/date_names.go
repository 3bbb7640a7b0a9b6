package function

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// dateNames are the names of months and days in a language. Long and short
// names of one month or day are separated by |.
type dateNames struct {
	months   []string // from January
	weekdays []string // from Sunday
}

// halfDays are the markers of the hours before and after noon.
var halfDays = [...]string{"AM|a.m.", "PM|p.m."}

// namesByLanguage holds the languages that dates are read in, by their tags.
var namesByLanguage = map[string]*dateNames{
	"en": {
		months: strings.Fields("January|Jan February|Feb March|Mar April|Apr May June|Jun July|Jul August|Aug " +
			"September|Sept|Sep October|Oct November|Nov December|Dec"),
		weekdays: strings.Fields("Sunday|Sun Monday|Mon Tuesday|Tue Wednesday|Wed Thursday|Thu Friday|Fri Saturday|Sat"),
	},
	"nl": {
		months: strings.Fields("januari|jan februari|feb maart|mrt april|apr mei juni|jun juli|jul augustus|aug " +
			"september|sep oktober|okt november|nov december|dec"),
		weekdays: strings.Fields("zondag|zo maandag|ma dinsdag|di woensdag|wo donderdag|do vrijdag|vr zaterdag|za"),
	},
	"de": {
		months: strings.Fields("Januar|Jan|Jän Februar|Feb März|Mär|Mrz April|Apr Mai Juni|Jun Juli|Jul August|Aug " +
			"September|Sept|Sep Oktober|Okt November|Nov Dezember|Dez"),
		weekdays: strings.Fields("Sonntag|So Montag|Mo Dienstag|Di Mittwoch|Mi Donnerstag|Do Freitag|Fr Samstag|Sa"),
	},
	"fr": {
		months: strings.Fields("janvier|janv février|févr mars avril|avr mai juin juillet|juil août septembre|sept " +
			"octobre|oct novembre|nov décembre|déc"),
		weekdays: strings.Fields("dimanche|dim lundi|lun mardi|mar mercredi|mer jeudi|jeu vendredi|ven samedi|sam"),
	},
	"es": {
		months: strings.Fields("enero|ene febrero|feb marzo|mar abril|abr mayo|may junio|jun julio|jul agosto|ago " +
			"septiembre|setiembre|sept|sep octubre|oct noviembre|nov diciembre|dic"),
		weekdays: strings.Fields("domingo|dom lunes|lun martes|mar miércoles|mié jueves|jue viernes|vie sábado|sáb"),
	},
	"it": {
		months: strings.Fields("gennaio|gen febbraio|feb marzo|mar aprile|apr maggio|mag giugno|giu luglio|lug " +
			"agosto|ago settembre|set ottobre|ott novembre|nov dicembre|dic"),
		weekdays: strings.Fields("domenica|dom lunedì|lun martedì|mar mercoledì|mer giovedì|gio venerdì|ven sabato|sab"),
	},
	"pt": {
		months: strings.Fields("janeiro|jan fevereiro|fev março|mar abril|abr maio|mai junho|jun julho|jul " +
			"agosto|ago setembro|set outubro|out novembro|nov dezembro|dez"),
		weekdays: strings.Fields("domingo|dom segunda-feira|segunda|seg terça-feira|terça|ter quarta-feira|quarta|qua " +
			"quinta-feira|quinta|qui sexta-feira|sexta|sex sábado|sáb"),
	},
	"pl": {
		months: strings.Fields("stycznia|styczeń|sty lutego|luty|lut marca|marzec|mar kwietnia|kwiecień|kwi " +
			"maja|maj czerwca|czerwiec|cze lipca|lipiec|lip sierpnia|sierpień|sie września|wrzesień|wrz " +
			"października|październik|paź listopada|listopad|lis grudnia|grudzień|gru"),
		weekdays: strings.Fields("niedziela|niedz poniedziałek|pon wtorek|wt środa|śr czwartek|czw piątek|pt sobota|sob"),
	},
}

// findDateNames returns the names of a language by its tag; it ignores the
// region.
func findDateNames(tag string) (*dateNames, error) {
	language, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(tag), "_", "-"), "-")
	names := namesByLanguage[language]
	if names == nil {
		return nil, fmt.Errorf("the language %q has no names of months here: expected de, en, es, fr, it, nl, pl or pt",
			brief(tag))
	}
	return names, nil
}

// nameIndex returns the index of the longest name that a text begins with, in
// any case, and the rest of the text. A short name may end in a dot. The index
// is -1 when no name matches.
func nameIndex(s string, names []string) (int, string) {
	found, length := -1, 0
	for i, alternatives := range names {
		for name := range strings.SplitSeq(alternatives, "|") {
			if n := foldedPrefix(s, name); n > length {
				found, length = i, n
			}
		}
	}
	rest := s[length:]
	if found >= 0 && length < len(s) {
		rest = strings.TrimPrefix(rest, ".")
	}
	return found, rest
}

// foldedPrefix returns the length of the prefix of a text that equals a name in
// any case, or 0.
func foldedPrefix(s, name string) int {
	end := 0
	for range utf8.RuneCountInString(name) {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if !strings.EqualFold(s[:end], name) {
		return 0
	}
	return end
}
