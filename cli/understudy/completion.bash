# bash completion for understudy and replay. Flags are read from the programs' own --help-all.
_understudy() {
  local word=${COMP_WORDS[COMP_CWORD]} flags
  local -a verb=("${COMP_WORDS[0]}")
  if [[ ${COMP_WORDS[0]##*/} == understudy ]]; then
    if ((COMP_CWORD == 1)); then
      mapfile -t COMPREPLY < <(compgen -W "$("${verb[0]}" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]\+\) .*/\1/p') --help --version" -- "$word")
      return
    fi
    verb+=("${COMP_WORDS[1]}")
    case ${COMP_WORDS[1]} in
      completion) mapfile -t COMPREPLY < <(compgen -W "bash zsh fish" -- "$word"); return ;;
      help)
        mapfile -t COMPREPLY < <(compgen -W "$("${verb[0]}" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]\+\) .*/\1/p')" -- "$word")
        return
        ;;
    esac
  fi
  if [[ $word == -* ]]; then
    flags=$("${verb[@]}" --help-all 2>/dev/null | grep -o -- '^  \(-[a-z],\)\?--[a-z-]*' | grep -o -- '--[a-z-]*')
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -F _understudy understudy replay
