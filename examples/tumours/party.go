package tumours

// Party is what one of the parties has.
type Party struct {
	// Name is how the party is called.
	Name string
	// Train are the tumours to learn from, Test those that are kept back to
	// measure the model with: every fourth.
	Train, Test []Tumour
}

// Parties deals the data set out to three parties. None is like another: of
// the 312 tumours of a screening centre 4 % are malignant, of the 57 of a
// clinic 35 %, of the 200 of an oncologist 90 %. Every call returns the same.
func Parties() ([]Party, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	parties := []Party{{Name: "screening"}, {Name: "clinic"}, {Name: "oncology"}}
	share := [2][3]int{{300, 37, 20}, {12, 20, 180}} // by diagnosis and party
	var taken [2][3]int
	for _, t := range all {
		kind := 0
		if t.Malignant {
			kind = 1
		}
		to := furthestBehind(taken[kind], share[kind])
		p := &parties[to]
		if taken[kind][to]%4 == 3 {
			p.Test = append(p.Test, t)
		} else {
			p.Train = append(p.Train, t)
		}
		taken[kind][to]++
	}
	return parties, nil
}

// furthestBehind returns the party that has got the smallest part of its share.
func furthestBehind(taken, share [3]int) int {
	party := 0
	for i := range taken {
		if taken[i]*share[party] < taken[party]*share[i] {
			party = i
		}
	}
	return party
}
