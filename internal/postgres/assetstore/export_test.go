package assetstore

import "github.com/millrace-dev/millrace/internal/domain/files"

// Joining returns how many new assets of an account wait to be committed together.
func (s *Store) Joining(account string) int { return s.creations.Waiting(account) }

// Saving returns how many files wait to be saved together with f.
func (s *Store) Saving(f files.Saving) int { return s.savings.Waiting(counterOf(f)) }

// Statements are the statements of joint transactions that read files, with arguments of the account acme and two files that are
// called 77 and 78 and have these as their bytes.
func Statements() map[string]string {
	return map[string]string{
		lockAll:       `array['a', 'b'], array[3, 11]`,
		selectAnswers: `'acme', array[sha256('77'), sha256('78')]`,
		selectStored:  `'acme', array[sha256('77'), sha256('78')], array[true, false]`,
		selectKnown:   `'acme', array[sha256('77'), sha256('78')], 100`,
		selectNames:   `'acme', array['input', 'input'], array['', ''], array['77', '78']`,
		takeNames:     `'acme', array['input', 'input'], array['', ''], array['77', '78']`,
		saveFound: `'acme', array[gen_random_uuid(), gen_random_uuid()], array[false, false], array[null, null]::bytea[], array[0,` +
			` 0], array[0, 0]`,
	}
}
