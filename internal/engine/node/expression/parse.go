package expression

import "slices"

// parser is a recursive descent over the tokens; each method reads one level of Python's grammar.
type parser struct {
	tokens  []token
	source  string
	at      int
	nesting int
}

func (p *parser) peek() token { return p.tokens[p.at] }

// accept takes the next token if it is one of these symbols or words.
func (p *parser) accept(texts ...string) (string, bool) {
	t := p.peek()
	if t.kind == end || t.kind == number || !slices.Contains(texts, t.text) {
		return "", false
	}
	p.at++
	return t.text, true
}

func (p *parser) expect(text string) error {
	if _, ok := p.accept(text); !ok {
		return syntax("invalid syntax", "found %q, expected %q", p.peek().text, text)
	}
	return nil
}

// enter bounds the depth of nesting; leave ends a level.
func (p *parser) enter() error {
	if p.nesting++; p.nesting > maxNesting {
		return invalid("it is nested deeper than %d levels", maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.nesting-- }

// expression: or_test ['if' or_test 'else' expression]
func (p *parser) expression() (term, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	yes, err := p.or()
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept("if"); !ok {
		return yes, nil
	}
	condition, err := p.or()
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept("else"); !ok {
		return nil, syntax("expected 'else' after 'if' expression", "'else' is missing")
	}
	no, err := p.expression()
	if err != nil {
		return nil, err
	}
	return func(env environment) (any, error) {
		c, err := condition(env)
		if err != nil {
			return nil, err
		}
		if IsTrue(c) {
			return yes(env)
		}
		return no(env)
	}, nil
}

// or: and ('or' and)*
func (p *parser) or() (term, error) { return p.shortCircuit("or", true, p.and) }

// and: not ('and' not)*
func (p *parser) and() (term, error) { return p.shortCircuit("and", false, p.not) }

// shortCircuit reads operands, which are evaluated until one has the truth value that decides the result.
func (p *parser) shortCircuit(word string, settles bool, operand func() (term, error)) (term, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		if _, ok := p.accept(word); !ok {
			return left, nil
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		first := left
		left = func(env environment) (any, error) {
			value, err := first(env)
			if err != nil || IsTrue(value) == settles {
				return value, err
			}
			return right(env)
		}
	}
}

// not: 'not' not | comparison
func (p *parser) not() (term, error) {
	if _, ok := p.accept("not"); !ok {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	operand, err := p.not()
	if err != nil {
		return nil, err
	}
	return func(env environment) (any, error) {
		value, err := operand(env)
		return !IsTrue(value), err
	}, nil
}

// comparison: bits (operator bits)*, where each pair of neighbours is compared.
func (p *parser) comparison() (term, error) {
	first, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	var operators []string
	operands := []term{first}
	for {
		operator, ok := p.accept("<", ">", "==", "!=", "<=", ">=")
		if !ok {
			break
		}
		operand, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		operators, operands = append(operators, operator), append(operands, operand)
	}
	if len(operators) == 0 {
		return first, nil
	}
	return func(env environment) (any, error) { return compareAll(env, operators, operands) }, nil
}

func compareAll(env environment, operators []string, operands []term) (any, error) {
	left, err := operands[0](env)
	if err != nil {
		return nil, err
	}
	for i, operator := range operators {
		right, err := operands[i+1](env)
		if err != nil {
			return nil, err
		}
		holds, err := compare(operator, left, right)
		if err != nil || !holds {
			return false, err
		}
		left = right
	}
	return true, nil
}

// levels are the binary operators that group to the left, loosest first.
var levels = [...][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *parser) binary(level int) (term, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		operator, ok := p.accept(levels[level]...)
		if !ok {
			return left, nil
		}
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		left = operation(operator, left, right)
	}
}

func operation(operator string, left, right term) term {
	return func(env environment) (any, error) {
		a, err := left(env)
		if err != nil {
			return nil, err
		}
		b, err := right(env)
		if err != nil {
			return nil, err
		}
		return calculate(operator, a, b)
	}
}

// unary: ('-' | '+' | '~') unary | power
func (p *parser) unary() (term, error) {
	operator, ok := p.accept("-", "+", "~")
	if !ok {
		return p.power()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	operand, err := p.unary()
	if err != nil {
		return nil, err
	}
	return func(env environment) (any, error) {
		value, err := operand(env)
		if err != nil {
			return nil, err
		}
		return sign(operator, value)
	}, nil
}

// power: primary ['**' unary], which groups to the right.
func (p *parser) power() (term, error) {
	base, err := p.primary()
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept("**"); !ok {
		return base, nil
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	exponent, err := p.unary()
	if err != nil {
		return nil, err
	}
	return operation("**", base, exponent), nil
}

// primary: atom ('[' expression ']')*
func (p *parser) primary() (term, error) {
	value, err := p.atom()
	if err != nil {
		return nil, err
	}
	for {
		if _, ok := p.accept("["); !ok {
			return value, nil
		}
		place, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
		value = operation("[]", value, place)
	}
}

func (p *parser) atom() (term, error) {
	t := p.peek()
	switch {
	case t.kind == number:
		p.at++
		return func(environment) (any, error) { return t.value, nil }, nil
	case t.kind == quote:
		p.at++
		return func(environment) (any, error) { return t.value, nil }, nil
	case t.kind == name:
		return p.named()
	case t.text == "(":
		p.at++
		inner, err := p.expression()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	case t.text == "[":
		p.at++
		elements, err := p.list("]")
		return func(env environment) (any, error) { return evaluateAll(env, elements) }, err
	default:
		return nil, unexpected(t.text)
	}
}

// named reads a constant, a variable or a call.
func (p *parser) named() (term, error) {
	word := p.peek().text
	p.at++
	switch word {
	case "True", "False":
		return func(environment) (any, error) { return word == "True", nil }, nil
	case "if", "else", "and", "or", "not":
		return nil, unexpected(word)
	}
	if _, ok := p.accept("("); ok {
		f, known := functions[word]
		arguments, err := p.list(")")
		return func(env environment) (any, error) {
			if !known {
				return nil, invalid("unknown function %.32q", word).
					Raising("simpleeval.FunctionNotDefined", "Function '%s' not defined, for expression '%s'.", word, p.source)
			}
			values, err := evaluateAll(env, arguments)
			if err != nil {
				return nil, err
			}
			return f(values)
		}, err
	}
	return func(env environment) (any, error) {
		value, ok := env[word]
		if !ok {
			return nil, invalid("unknown value %.32q", word).
				Raising("simpleeval.NameNotDefined", "'%s' is not defined for expression '%s'", word, p.source)
		}
		return value, nil
	}, nil
}

// list reads expressions up to the closing bracket, which may follow a comma.
func (p *parser) list(closing string) ([]term, error) {
	var terms []term
	for {
		if _, ok := p.accept(closing); ok {
			return terms, nil
		}
		t, err := p.expression()
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		if _, more := p.accept(","); !more {
			return terms, p.expect(closing)
		}
	}
}

func evaluateAll(env environment, terms []term) ([]any, error) {
	values := make([]any, len(terms))
	for i, t := range terms {
		var err error
		if values[i], err = t(env); err != nil {
			return nil, err
		}
	}
	return values, nil
}
