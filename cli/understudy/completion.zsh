#compdef understudy replay
# zsh completion for understudy and replay. Flags are read from the programs' own --help-all.
_understudy() {
  local -a command=("${words[1]}") flags verbs
  if [[ ${words[1]:t} == understudy ]]; then
    if (( CURRENT == 2 )); then
      verbs=(${(f)"$("${words[1]}" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]\+\)  *\(.*\)/\1:\2/p')"})
      _describe verb verbs
      return
    fi
    if [[ ${words[2]} == completion ]]; then
      compadd bash zsh fish
      return
    fi
    command+=("${words[2]}")
  fi
  if [[ ${words[CURRENT]} == -* ]]; then
    flags=(${(f)"$("${command[@]}" --help-all 2>/dev/null | grep -o -- '^  \(-[a-z],\)\?--[a-z-]*' | grep -o -- '--[a-z-]*')"})
    compadd -- $flags
    return
  fi
  _files
}
compdef _understudy understudy replay 2>/dev/null
